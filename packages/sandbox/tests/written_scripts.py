"""Test scripts as people write them, each with code that is right and code that is wrong by it."""

from dataclasses import dataclass

ADD = "def add(a, b):\n    return a + b\n"
NOT_ADD = "def add(a, b):\n    return a - b\n"
MEAN = (
    "def mean(values):\n    if not values:\n        raise ValueError('no values')\n"
    "    return sum(values) / len(values)\n"
)
NOT_MEAN = "def mean(values):\n    return max(values, default=0)\n"
STACK = (
    "class Empty(Exception):\n    pass\n"
    "class Stack:\n"
    "    def __init__(self):\n        self.items = []\n"
    "    def push(self, item):\n        self.items.append(item)\n"
    "    def pop(self):\n        if not self.items:\n"
    "            raise Empty('nothing to pop')\n        return self.items.pop()\n"
    "    def __len__(self):\n        return len(self.items)\n"
)
NOT_STACK = STACK.replace("self.items.pop()", "self.items.pop(0)").replace(
    "raise Empty('nothing to pop')", "return None"
)
LATER = "import asyncio\nasync def later(x):\n    await asyncio.sleep(0)\n    return x * 2\n"
NOT_LATER = LATER.replace("x * 2", "x")
GREET = "def greet():\n    name = input()\n    print(f'Hello, {name}!')\n"
NOT_GREET = GREET.replace("Hello", "Bye")


@dataclass(frozen=True)
class Written:
    script: str
    right: str = ADD
    wrong: str = NOT_ADD


SCRIPTS: dict[str, Written] = {
    "plain assertion": Written("assert add(1, 2) == 3"),
    "from solution import": Written("from solution import add\n\nassert add(1, 2) == 3"),
    "from solution import star": Written("from solution import *\nassert add(1, 2) == 3"),
    "import solution as": Written("import solution as s\n\ndef test_it():\n    assert s.add(1, 2) == 3"),
    "importlib": Written("import importlib\nm = importlib.import_module('solution')\nassert m.add(1, 2) == 3"),
    "sys.path": Written(
        "import os\nimport sys\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\n"
        "from solution import add\nassert add(1, 2) == 3"
    ),
    "test functions": Written(
        "def test_one():\n    assert add(1, 2) == 3\n\ndef test_two():\n    assert add(0, 5) == 5"
    ),
    "pytest class with set-up": Written(
        "class TestAdd:\n    def setup_method(self, method):\n        self.x = 1\n\n"
        "    def test_it(self):\n        assert add(self.x, 2) == 3"
    ),
    "parametrize with param and ids": Written(
        "import pytest\n\n@pytest.mark.parametrize(['a', 'expected'], [pytest.param(1, 3, id='one'), (2, 4)])\n"
        "def test_add(a, expected):\n    assert add(a, 2) == expected, f'{a} and two are {expected}'"
    ),
    "parametrize over a list of the script": Written(
        "import pytest\nCASES = [((1, 2), 3), ((2, 3), 5)]\n\n"
        "@pytest.mark.parametrize('given,expected', CASES)\ndef test_add(given, expected):\n"
        "    assert add(*given) == expected"
    ),
    "parametrize twice, in a class": Written(
        "import pytest\n\nclass TestAdd:\n    @pytest.mark.parametrize('a', [1, 2])\n"
        "    @pytest.mark.parametrize('b', [3, 4])\n    def test_add(self, a, b):\n        assert add(a, b) == b + a"
    ),
    "raises": Written(
        "import pytest\n\ndef test_it():\n    with pytest.raises(ValueError):\n        mean([])", MEAN, NOT_MEAN
    ),
    "raises with a match and what was raised": Written(
        "import pytest\n\ndef test_it():\n"
        "    with pytest.raises(ValueError, match='no val') as info:\n        mean([])\n"
        "    assert 'values' in str(info.value)",
        MEAN,
        NOT_MEAN,
    ),
    "raises around a call": Written("from pytest import raises\nraises(ValueError, mean, [])\n", MEAN, NOT_MEAN),
    "approx from pytest, with a tolerance": Written(
        "from pytest import approx\nassert mean([1, 2, 2]) == approx(1.67, abs=0.01)\n", MEAN, NOT_MEAN
    ),
    "approx in a list": Written(
        "import pytest\nassert [mean([1, 2]), mean([2, 2])] == [pytest.approx(1.5), 2]", MEAN, NOT_MEAN
    ),
    "approx of what is computed": Written(
        "import pytest\nwanted = sum([0.1, 0.2]) / 2\nassert mean([0.1, 0.2]) == pytest.approx(wanted)", MEAN, NOT_MEAN
    ),
    "a fixture of its own": Written(
        "import pytest\n\n@pytest.fixture\ndef stack():\n    made = Stack()\n    made.push(1)\n    made.push(2)\n"
        "    return made\n\ndef test_pop(stack):\n    assert stack.pop() == 2\n"
        "\ndef test_size(stack):\n    assert len(stack) == 2",
        STACK,
        NOT_STACK,
    ),
    "a fixture that yields, of another": Written(
        "import pytest\n\n@pytest.fixture(scope='function')\n"
        "def two():\n    yield 2\n\n@pytest.fixture()\ndef sum_of(two):\n"
        "    return add(two, 1)\n\nclass TestAdd:\n"
        "    def test_it(self, sum_of, two):\n        assert sum_of == two + 1"
    ),
    "marks that name a test": Written(
        "import pytest\npytestmark = pytest.mark.unit\n\n@pytest.mark.slow\n@pytest.mark.timeout(5)\n"
        "def test_it():\n    assert add(1, 2) == 3"
    ),
    "async test": Written(
        "import pytest\n\n@pytest.mark.asyncio\nasync def test_it():\n    assert await later(2) == 4", LATER, NOT_LATER
    ),
    "unittest with super()": Written(
        """
import unittest
from solution import add

class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.one = 1

    def setUp(self):
        super().setUp()
        self.two = 2

class AddTest(Base):
    def test_add(self):
        self.assertEqual(add(self.one, self.two), 3)
""",
    ),
    "a subclass of the code's": Written(
        """
from solution import Counter

class Loud(Counter):
    def __init__(self):
        super().__init__()
        self.said = []

def test_counts():
    loud = Loud()
    loud.add(2)
    assert loud.total == 2
""",
        right="class Counter:\n    def __init__(self): self.total = 0\n    def add(self, n): self.total += n\n",
        wrong="class Counter:\n    def __init__(self): self.total = 0\n    def add(self, n): self.total -= n\n",
    ),
    "unittest.main without a guard": Written(
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_it(self): self.assertEqual(first=add(1, 2), second=3)\n"
        "unittest.main(argv=[''], exit=False)"
    ),
    "unittest with raises, almost and truth": Written(
        "from unittest import TestCase, main\nclass T(TestCase):\n    def test_it(self):\n"
        "        self.assertAlmostEqual(mean([0.1, 0.2]), 0.15)\n        self.assertTrue(mean([1]) == 1, 'one')\n"
        "        self.assertIsInstance(mean([1]), float)\n        self.assertIn(mean([1]), [1, 2])\n"
        "        with self.assertRaises(ValueError) as caught:\n            mean([])\n"
        "        self.assertEqual(str(caught.exception), 'no values')\n"
        "        self.assertRaises(ValueError, mean, [])\n        self.assertRaisesRegex(ValueError, 'no', mean, [])",
        MEAN,
        NOT_MEAN,
    ),
    "unittest with subTest": Written(
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n"
        "        for a, b, c in [(1, 2, 3), (2, 2, 4)]:\n"
        "            with self.subTest(a=a, b=b):\n                self.assertEqual(add(a, b), c)"
    ),
    "unittest with its own runner": Written(
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): self.assertEqual(add(1, 2), 3)\n"
        "if __name__ == '__main__':\n    suite = unittest.TestLoader().loadTestsFromTestCase(T)\n"
        "    unittest.TextTestRunner().run(suite)"
    ),
    "unittest, async": Written(
        "import unittest\nclass T(unittest.IsolatedAsyncioTestCase):\n    async def test_it(self):\n"
        "        self.assertEqual(await later(3), 6)",
        LATER,
        NOT_LATER,
    ),
    "unittest.mock": Written(
        "import io\nfrom unittest.mock import patch\n\n@patch('builtins.input', return_value='Ann')\n"
        "@patch('sys.stdout', new_callable=io.StringIO)\ndef test_greet(out, _input):\n    greet()\n"
        "    assert out.getvalue() == 'Hello, Ann!\\n'",
        GREET,
        NOT_GREET,
    ),
    "helper functions": Written(
        "def expect(args, wanted):\n    got = add(*args)\n    assert got == wanted, f'{args}: {got}'\n\n"
        "expect((1, 2), 3)\nexpect((0, 0), 0)"
    ),
    "everything under main": Written("if __name__ == '__main__':\n    assert add(1, 2) == 3\n    print('ok')"),
    "a checker called under main": Written(
        "def run_tests():\n    assert add(1, 2) == 3\n"
        "    print('passed')\n\nif __name__ == '__main__':\n    run_tests()"
    ),
    "standard library": Written(
        "import collections\nimport math\nimport random\n"
        "for _ in range(20):\n    a, b = random.random(), random.random()\n"
        "    assert math.isclose(add(a, b), math.fsum([a, b]))\nassert collections.Counter([add(1, 1)]) == {2: 1}"
    ),
    "raise instead of assert": Written("if add(1, 2) != 3:\n    raise AssertionError('not three')"),
    "try and except": Written(
        "try:\n    mean([])\n    assert False, 'it should have raised'\nexcept ValueError:\n    pass", MEAN, NOT_MEAN
    ),
    "an exception of the solution": Written(
        "import pytest\nfrom solution import Empty, Stack\n\ndef test_it():\n    with pytest.raises(Empty):\n"
        "        Stack().pop()",
        STACK,
        NOT_STACK,
    ),
    "windows line ends and an odd escape": Written(
        "import re\r\nassert re.match('\\d', str(add(1, 2)))\r\nassert add(1, 2) == 3\r\n"
    ),
}
