"""The kernel over netlink: addresses in use, Wi-Fi interfaces, their bands, the regulatory domain.

Reading needs no privilege: https://man7.org/linux/man-pages/man7/rtnetlink.7.html.
"""
