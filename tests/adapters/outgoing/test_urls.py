"""Which addresses are refused before anything is sent. Nothing here may need a name server to be refused."""

import pytest

from reflection_app.adapters.outgoing import AddressRefused, Unreachable, addresses, check_url, origin_of

NASTY = [
    "",
    "example.com",
    "//example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "javascript:alert(1)",
    "http://",
    "http:///etc",
    "https://?x",
    "http://user@8.8.8.8/",
    "http://user:password@8.8.8.8/",
    "http://8.8.8.8@127.0.0.1/",
    "http://@127.0.0.1/",
    "http://8.8.8.8\\@127.0.0.1/",
    "http://8.8.8.8 .example/",
    "http://8.8.8.8\t/",
    "http://8.8.8.8/\r\nX-Header: 1",
    "http://8.8.8.8/\x00",
    "http://8.8.8.8:0/",
    "http://8.8.8.8:99999/",
    "http://8.8.8.8:port/",
    "http://8.8.8.8:-1/",
    # Notations of 127.0.0.1 and its like that a resolver would accept
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://127.0.0.1./",
    "http://127.0.0.0x1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://%31%32%37.0.0.1/",
    # Addresses that are not of the public internet
    "http://127.0.0.1/",
    "http://127.255.255.254:8000/",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://239.255.255.250/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:808:808::1]/",
    "http://[2001:0:53aa:64c:0:0:80ff:fffe]/",
    "http://[2001:db8::1]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25lo]/",
    "http://[fe80::1%lo]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
    "http://[::1/",
    "http://localhost/",
    "http://LOCALHOST:8000/",
]


@pytest.mark.parametrize("url", NASTY)
def test_a_nasty_address_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://8.8.8.8/x?y=1",
        "http://8.8.8.8:8080/",
        "HTTPS://1.1.1.1",
        "http://[2606:4700:4700::1111]/",
        "http://[64:ff9b::8.8.8.8]/",
        "http://[::ffff:8.8.8.8]/",
    ],
)
def test_a_public_address_is_let_through(url: str) -> None:
    check_url(url)


def test_a_name_is_judged_by_all_of_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"good.example": ["8.8.8.8", "2606:4700:4700::1111"], "mixed.example": ["8.8.8.8", "10.0.0.1"]}
    monkeypatch.setattr(addresses, "look_up", lambda host, _port: answers.get(host, []))

    check_url("https://good.example/")
    with pytest.raises(AddressRefused, match=r"mixed\.example is not on the public internet"):
        check_url("https://mixed.example/")
    with pytest.raises(Unreachable, match="no address"):
        check_url("https://empty.example/")


def test_an_international_name_is_looked_up_in_its_ascii_form(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def look_up(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["8.8.8.8"]

    monkeypatch.setattr(addresses, "look_up", look_up)
    check_url("https://bücher.example/")
    assert asked == ["xn--bcher-kva.example"]


def test_an_unknown_name_is_told_apart_from_a_refused_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_host: str, _port: int) -> list[str]:
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr(addresses, "look_up", unknown)
    with pytest.raises(Unreachable, match="not known"):
        check_url("https://nobody.example/")


def test_an_allowed_network_is_let_through_and_no_other(loopback: None) -> None:
    check_url("http://127.0.0.1:8000/")
    with pytest.raises(AddressRefused):
        check_url("http://127.0.0.2/")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Example.COM/a?b#c", "https://example.com:443"),
        ("http://example.com:80", "http://example.com:80"),
        ("http://example.com.:8080/", "http://example.com:8080"),
        ("https://[2606:4700::1]/", "https://[2606:4700::1]:443"),
    ],
)
def test_an_origin_is_written_one_way(url: str, origin: str) -> None:
    assert origin_of(url) == origin
