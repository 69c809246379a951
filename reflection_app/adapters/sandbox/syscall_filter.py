"""The system calls that code in the sandbox may not make, as a seccomp program for `bwrap --seccomp`.

What is refused: memory that no limit counts (memfd, System V, anonymous shared mappings), other processes' limits,
memory and priorities, sockets that are not local, new namespaces and mounts, and calls of the kernel with a long
record of faults. All else is allowed. It is written for x86_64 and aarch64; elsewhere there is no filter, and what
is left are the namespaces, the limits and the watch on memory.
"""

import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

# classic BPF: linux/bpf_common.h, linux/seccomp.h
LOAD, AND, RETURN = 0x20, 0x54, 0x06
IS_EQUAL, IS_AT_LEAST, HAS_ANY = 0x15, 0x35, 0x45
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000

AF_UNIX = 1
SHARED_AND_ANONYMOUS = 0x21
NEW_NAMESPACES = 0x7E020000

# name: number on x86_64, number on aarch64
REFUSED = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "unshare": (272, 97),
    "setns": (308, 268),
}
CLONE3 = (435, 435)
PRLIMIT64 = (302, 261)
SOCKET, SOCKETPAIR = (41, 198), (53, 199)
MMAP = (9, 222)
CLONE = (56, 220)
Step = tuple[int, int, int, int]


@cache
def filter_program() -> bytes | None:
    """The program for this machine; None where its system calls have other numbers."""
    machine = platform.machine()
    if machine not in ARCHITECTURES or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return None
    return b"".join(struct.pack("=HBBI", *step) for step in steps(machine))


def steps(machine: str) -> Iterator[Step]:
    """Jumps count the steps that are left out; everything that is not refused ends at the last step."""
    place = list(ARCHITECTURES).index(machine)
    yield (LOAD, 0, 0, ARCHITECTURE_AT)
    yield (IS_EQUAL, 1, 0, ARCHITECTURES[machine])
    yield (RETURN, 0, 0, KILL)  # 32-bit calls have other numbers
    yield (LOAD, 0, 0, NUMBER_AT)
    if machine == "x86_64":
        yield from when((IS_AT_LEAST, 0, 1, X32), [refuse(errno.ENOSYS)])
    shared = (AND, 0, 0, SHARED_AND_ANONYMOUS)
    yield from when(is_call(MMAP[place]), refused_if(3, shared, (IS_EQUAL, 0, 1, SHARED_AND_ANONYMOUS)))
    for numbers in REFUSED.values():
        yield from when(is_call(numbers[place]), [refuse(errno.EPERM)])
    yield from when(is_call(CLONE3[place]), [refuse(errno.ENOSYS)])  # its flags are out of sight; libc then takes clone
    yield from when(is_call(CLONE[place]), refused_if(0, (HAS_ANY, 0, 1, NEW_NAMESPACES)))
    yield from when(is_call(PRLIMIT64[place]), refused_if(0, (IS_EQUAL, 1, 0, 0)))
    for numbers in (SOCKET, SOCKETPAIR):
        yield from when(is_call(numbers[place]), refused_if(0, (IS_EQUAL, 1, 0, AF_UNIX)))
    yield (RETURN, 0, 0, ALLOW)


def is_call(number: int) -> Step:
    return (IS_EQUAL, 0, 1, number)


def refuse(number: int) -> Step:
    return (RETURN, 0, 0, REFUSE | number)


def when(condition: Step, then: list[Step]) -> list[Step]:
    """The steps, left out when the condition does not hold."""
    code, yes, _, value = condition
    return [(code, yes, len(then), value), *then]


def refused_if(argument: int, *conditions: Step) -> list[Step]:
    """Ends here: refused, or allowed if the last condition leaves the refusal out."""
    load = (LOAD, 0, 0, ARGUMENTS_AT + 8 * argument)
    return [load, *conditions, refuse(errno.EPERM), (RETURN, 0, 0, ALLOW)]


def open_filter() -> Any:
    """A file with the program for one sandbox, which reads it up; empty if there is none."""
    file = os.fdopen(os.memfd_create("filter"), "w+b", buffering=0)
    file.write(filter_program() or b"")
    file.seek(0)
    return file
