"""Strings that name a file, an address or a program where only a name or a question should stand."""

from __future__ import annotations

FILES = (
    "/etc/passwd",
    "etc/passwd",
    "/proc/self/environ",
    "/proc/self/cmdline",
    "CURRENT",
    "manifest.json",
    "records.sqlite",
)

_UP = (
    "../", "..\\", "..;/", "%2e%2e%2f", "..%2f", "%2e%2e/", "..%5c", "%252e%252e%252f", "..%c0%af", "%c0%ae%c0%ae/",
    "....//", "..././", "．．/", "..／", "../\x00", "/%2e%2e/",
)  # fmt: skip

PATHS = (
    *FILES,
    *(up * 8 + "etc/passwd" for up in _UP),
    *(f"demo/{up}{up}demo" for up in _UP[:6]),
    "..", ".", "/", "//", "\\", "~", "~root/.ssh/id_rsa", "/dev/stdin", "/dev/zero", "/dev/fd/0", "C:\\boot.ini",
    "\\\\192.0.2.1\\share\\x", "gen-000001", "../indexes/demo", "demo\x00.json", "demo/", "nul", "con",
    "file:///etc/passwd", "file://localhost/etc/passwd", "jar:file:///etc/passwd!/",
)  # fmt: skip
"""More than 50 strings that would be a path where one is made of them."""

ADDRESSES = (
    "http://192.0.2.1/", "https://192.0.2.1/x.png", "ftp://192.0.2.1/", "//192.0.2.1/x", "http://169.254.169.254/latest",
    "http://2130706433/", "http://0x7f000001/", "http://[::ffff:192.0.2.1]/", "http://192.0.2.1#@127.0.0.1/",
    "gopher://192.0.2.1:70/_x", "dict://192.0.2.1:11/", "ldap://192.0.2.1/x", "jndi:ldap://192.0.2.1/x",
    "${jndi:ldap://192.0.2.1/x}", "\\\\192.0.2.1\\x", "http://attack.invalid/", "data:text/html,<script>1</script>",
)  # fmt: skip
"""Addresses of other machines (192.0.2.0/24 and .invalid are nobody's), in the forms that filters miss."""

PROGRAMS = (
    "$(id)",
    "`id`",
    "; id",
    "| id",
    "{{7*7}}",
    "${7*7}",
    "<%= 7*7 %>",
    "__import__('os')",
    "' OR 1=1 --",
    "*:*",
    "a^9 b~2",
)
"""What a shell, a template, Python, SQL or Lucene's query parser would run."""
