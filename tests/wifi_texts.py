"""Texts of Wi-Fi QR codes, as other programs write them, and what both readers of the hub find in them: a
network and its password, the security that cameras do not have, the fault of a password, or nothing."""

from __future__ import annotations

from typing import Final

CASES: Final[dict[str, tuple[str, str] | str | None]] = {
    # NetworkManager: nmcli and its applet put hexadecimal digits in quotes
    'WIFI:T:WPA;S:THETAYL00105377.OSC;P:"00105377";;': ("THETAYL00105377.OSC", "00105377"),
    'WIFI:T:WPA;S:"ABBA";P:"88888888";;': ("ABBA", "88888888"),
    # quotes that belong to the value are escaped, by zxing's rule
    r"WIFI:S:\"cam\";T:WPA;P:\"12345678\";;": ('"cam"', '"12345678"'),
    r"WIFI:S:CAM;T:WPA;P:\"12345678;;": ("CAM", '"12345678'),
    'WIFI:S:CAM;T:WPA;P:12"345678;;': ("CAM", '12"345678'),
    r'WIFI:S:CAM;T:WPA;P:"1234567\";;': ("CAM", '"1234567"'),
    'WIFI:S:CAM;T:WPA;P:1234567";;': ("CAM", '1234567"'),
    # Android and zxing: ; , : " \ escaped
    r"WIFI:S:Foo\;net;T:WPA;R:1;P:my\:passw\,d;H:true;;": ("Foo;net", "my:passw,d"),
    r"WIFI:T:WPA;S:test;P:my_password\\;;": ("test", "my_password\\"),
    # iOS
    "WIFI:S:Insta360 X4;T:WPA;P:88888888;H:false;;": ("Insta360 X4", "88888888"),
    # Samsung, and a large generator: another end, or none
    "WIFI:S:CAM-1;T:WPA;P:camera-pass-1;H:false;\x01": ("CAM-1", "camera-pass-1"),
    "WIFI:S:CAM-1;T:WPA;P:camera-pass-1;H:0": ("CAM-1", "camera-pass-1"),
    "WIFI:S:CAM-1;T:WPA;P:camera-pass-1;": ("CAM-1", "camera-pass-1"),
    "WIFI:S:CAM-1;T:WPA;P:camera-pass-1": ("CAM-1", "camera-pass-1"),
    "WIFI:T:WPA;P:camera-pass-1;S:CAM-1\r\n": ("CAM-1", "camera-pass-1"),
    # further members, in any order; blanks in values are part of them
    "wifi:s:CAM;p:12345678;;": ("CAM", "12345678"),
    " WIFI:S: CAM ;T:;P: 1234567 ;;": (" CAM ", " 1234567 "),
    "WIFI:T:WPA;P:pS:xxxxxxx;S:CAM;;": ("CAM", "pS:xxxxxxx"),
    "WIFI:S:free for all;T:nopass;;": ("free for all", ""),
    "WIFI:T:WPA;E:;PH2:;A:;I:;S:CAM;P:12345678;;": ("CAM", "12345678"),
    # what the programs of this list do not write, and people paste
    "\ufeff\u00a0\tWIFI:S:CAM;P:12345678;;\r\n\r\n": ("CAM", "12345678"),
    "WIFI:S:CAM;P:1234567\u00a0": ("CAM", "1234567\u00a0"),
    "WIFI:S:CAM\u2028\\\u20281;P:12345678;;": ("CAM\u2028\u20281", "12345678"),
    "WIFI:S:\\\U0001f4f7;P:" + "\U0001f4f7" * 300 + ";;": ("\U0001f4f7", "\U0001f4f7" * 300),
    "WIFI:S:free for all;;": ("free for all", ""),
    "WIFI:T:nopass;S:free for all;P:;;": ("free for all", ""),
    # a password that is left out, and one that would be dropped
    "WIFI:T:WPA;S:nopwarg;;": "password-missing",
    "WIFI:T:WPA;S:CAM;P:;;": "password-missing",
    'WIFI:T:WPA;S:CAM;P:"";;': "password-missing",
    "WIFI:T:SAE;S:CAM;H:true;;": "password-missing",
    "WIFI:T:nopass;S:CAM;P:secret12;;": "password-unused",
    "WIFI:T:NOPASS;S:CAM;P:12345678;;": "password-unused",
    # 802.1X, by zxing's rules; WEP; WPA3's password identifier
    "WIFI:T:WPA2-EAP;E:PEAP;PH2:MSCHAPV2;S:CAM;;": "802.1X",
    "WIFI:T:WPA2-EAP;S:Corp;E:PEAP;PH2:MSCHAPV2;I:me;P:secret123;;": "802.1X",
    "WIFI:T:wpa3-eap;S:Corp;P:secret123;;": "802.1X",
    "WIFI:T:WPA;S:Corp;E:TTLS;A:anon;P:secret123;;": "802.1X",
    "WIFI:T:WEP;S:Old;P:12345;;": "WEP",
    "WIFI:T:WPA;R:1;S:CAM;I:tester;P:secret123;;": "SAE with a password identifier",
    # no network, no value's end, no such text
    "WIFI:T:WPA;P:12345678;;": None,
    "WIFI:S:;P:12345678;;": None,
    "WIFI:": None,
    "WIFI:CAM;12345678;;": None,
    "WIFI:S:CAM;P:1234567\\": None,
    "WIFI:T:WPA2-EAP;P:secret123;;": None,
    "S:CAM;P:12345678;;": None,
    "W\u0131F\u0131:S:CAM;P:12345678;;": None,
    "WIFI:\u017f:CAM;P:12345678;;": None,
    "\u2003WIFI:S:CAM;P:12345678;;": None,
    "WIFI:S:CAM;P:" + "x" * 600 + ";;": None,
}
