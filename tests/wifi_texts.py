"""Texts of Wi-Fi QR codes, as other programs write them, and the network and password in them."""

from __future__ import annotations

from typing import Final

CASES: Final[dict[str, tuple[str, str] | None]] = {
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
    "WIFI:T:WPA2-EAP;E:PEAP;PH2:MSCHAPV2;S:CAM;;": ("CAM", ""),
    "WIFI:S:free for all;T:nopass;;": ("free for all", ""),
    # no network, no value's end, no such text
    "WIFI:T:WPA;P:12345678;;": None,
    "WIFI:S:;P:12345678;;": None,
    "WIFI:": None,
    "WIFI:CAM;12345678;;": None,
    "WIFI:S:CAM;P:1234567\\": None,
    "S:CAM;P:12345678;;": None,
    "WIFI:S:CAM;P:" + "x" * 600 + ";;": None,
}
