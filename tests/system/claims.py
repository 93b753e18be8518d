"""The lines of docs/security.md, "Who owns a process", and the tests that show each.

tests/docs/test_security_claims.py compares the two, so that a line without a test fails.
"""

from __future__ import annotations

from typing import Final

_BLUEZ: Final = (
    "tests/test_bus_policy.py::test_the_camera_process_may_do_what_it_uses_of_bluez_and_nothing_else"
)
_CAGE: Final = "tests/system/test_cage.py::"
_POLICY: Final = "tests/test_bus_policy.py::"
_USB: Final = "tests/system/test_usb_host.py::"
_ALL: Final = _CAGE + "test_no_process_becomes_another_user"

Claims = dict[str, dict[str, tuple[str, ...]]]

CANNOT: Final[Claims] = {
    "the daemon, `wifimgrd`": {
        "activate a profile of another content": (
            _CAGE + "test_the_daemon_changes_nothing_in_networkmanager_by_itself",
            _CAGE + "test_the_helper_activates_nothing_but_on_the_hubs_adapters",
            "tests/helper/test_profile.py::test_arguments_that_are_no_profile_are_refused_without_the_password",
            "tests/lab/test_backend_networkmanager.py"
            "::test_a_profile_is_activated_on_no_other_adapter_than_its_own",
        ),
        "end or delete the profiles of others, read their secrets, or change profiles in place": (
            _CAGE + "test_the_daemon_changes_nothing_in_networkmanager_by_itself",
            _CAGE + "test_the_helper_ends_and_deletes_no_profile_of_others_for_the_daemon",
            "tests/lab/test_backend_networkmanager.py"
            "::test_profiles_of_the_host_are_neither_ended_nor_deleted",
        ),
        "switch networking or Wi-Fi off as a whole": (
            _CAGE + "test_the_daemon_changes_nothing_in_networkmanager_by_itself",
        ),
        "have wpa_supplicant show keys, change its settings or add networks by itself": (
            _CAGE + "test_the_daemon_changes_no_settings_of_wpa_supplicant",
        ),
        "use any other method of the two: the bus refuses it "
        "(`/usr/share/dbus-1/system.d/org.wifimgrd1.conf`)": (
            _POLICY + "test_what_it_does_not_use_is_refused_by_the_bus",
            "tests/system/test_bus.py::test_the_daemons_user_may_call_what_the_daemon_uses_and_no_more",
        ),
        "write outside its state and three files of each USB Wi-Fi adapter in `/sys`, of a USB 3 port four": (
            _CAGE + "test_the_daemon_writes_its_state_alone",
            _USB + "test_udev_gives_the_daemon_the_node_and_the_power_switch_of_an_adapter_and_no_more",
        ),
        "command any other USB device": (
            _USB + "test_the_sandbox_lets_the_daemon_command_its_adapters_alone",
        ),
        "send anything by IP": (_CAGE + "test_the_daemon_sends_nothing_by_ip",),
        "become another user": (_ALL,),
    },
    "the shim, `wifimgrd-http`": {
        "read a stored password or the state": (
            _CAGE + "test_shim_and_bridges_read_neither_state_nor_passwords",
        ),
        "open a connection by itself": (_CAGE + "test_the_shim_opens_no_connection_by_itself",),
        "talk to NetworkManager or wpa_supplicant beyond what every local user may": (
            _CAGE + "test_shim_and_bridges_have_no_more_than_every_user_in_the_services",
        ),
    },
    "the bridge, `wifimgrd-mqtt`": {
        "read a stored password or the state": (
            _CAGE + "test_shim_and_bridges_read_neither_state_nor_passwords",
        ),
        "read a report of a fault": (_CAGE + "test_the_bridges_get_no_report_of_a_fault",),
        "listen on a port that it chooses": (_CAGE + "test_bridges_and_helper_have_no_port_of_their_choice",),
    },
    "the bridge to ground stations, `wifimgrd-mavlink`": {
        "read a stored password or the state": (
            _CAGE + "test_shim_and_bridges_read_neither_state_nor_passwords",
        ),
        "read a report of a fault": (_CAGE + "test_the_bridges_get_no_report_of_a_fault",),
        "connect or disconnect cameras": (_CAGE + "test_the_bridge_to_ground_stations_records_and_no_more",),
        "register, change or remove cameras": (
            _CAGE + "test_the_bridge_to_ground_stations_records_and_no_more",
            "tests/mavlink/test_service.py::test_its_user_is_made_and_may_control_cameras_and_nothing_else",
        ),
        "listen on a TCP port": (_CAGE + "test_bridges_and_helper_have_no_port_of_their_choice",),
        "write outside its own state": (_CAGE + "test_the_bridge_to_ground_stations_writes_its_state_alone",),
        "talk to NetworkManager or wpa_supplicant beyond what every local user may": (
            _CAGE + "test_shim_and_bridges_have_no_more_than_every_user_in_the_services",
        ),
    },
    "the camera process, `wifimgrd-camera`": {
        "read a stored password or the state": (
            _CAGE + "test_the_camera_process_reads_neither_state_nor_passwords",
        ),
        "open a network connection": (_CAGE + "test_the_camera_process_has_no_network_and_no_files",),
        "call the daemon": (
            _CAGE + "test_the_camera_process_does_not_call_the_daemon",
            "tests/test_bus_policy.py::test_the_camera_process_answers_the_daemon_and_does_not_call_it",
        ),
        "write a file": (_CAGE + "test_the_camera_process_has_no_network_and_no_files",),
        "join or leave a network": (
            _CAGE + "test_the_camera_process_changes_nothing_in_the_services_that_join",
        ),
        "switch the Bluetooth adapter on or off, or register a profile": (_BLUEZ,),
        "answer the pairings of other programs": (
            _BLUEZ,
            "tests/camera/test_service.py::test_the_agent_accepts_only_what_was_started_here",
        ),
        "start bluetoothd": ("tests/camera/test_service.py::test_no_call_starts_bluetoothd",),
    },
    "the helper, `wifimgrd-net`": {
        "read `/var/lib/wifimgrd`": (_CAGE + "test_the_helper_reads_no_state",),
        "write files other than those and those in `/proc/sys/net/ipv4/conf`": (
            _CAGE + "test_the_helper_writes_its_files_alone",
        ),
        "change files of others in these directories": (_CAGE + "test_the_helper_writes_its_files_alone",),
        "stop networkd, or start any other unit": (_CAGE + "test_the_helper_manages_no_unit_but_networkd",),
        "read the secrets of NetworkManager's profiles, change them in place, or switch networking or Wi-Fi "
        "off as a whole": (_CAGE + "test_the_helper_activates_any_profile_and_that_is_where_it_ends",),
        "have wpa_supplicant show keys": (_CAGE + "test_the_helper_has_wpa_supplicant_show_no_keys",),
        "listen on a port that it chooses": (_CAGE + "test_bridges_and_helper_have_no_port_of_their_choice",),
        "become another user, as far as is known of NetworkManager's profiles": (_ALL,),
    },
    "`wifimgrctl`": {},
}

CAN: Final[Claims] = {
    "the daemon, `wifimgrd`": {
        "read the profiles of others without their secrets": (
            _CAGE + "test_the_daemon_reads_profiles_without_their_secrets",
        ),
        "reset USB Wi-Fi adapters, switch the power of their ports off and on, and command them directly, "
        "past their drivers": (
            _USB + "test_a_reset_resets_the_port_and_configures_the_same_device_again",
            _USB + "test_power_goes_off_and_on_at_the_hub_and_the_device_is_a_new_one",
        ),
    },
    "the shim, `wifimgrd-http`": {
        "do what a member of the group `wifimgrd` may: control every camera, register others, get "
        "connections to connected cameras": (_CAGE + "test_shim_and_bridge_control_cameras",),
    },
    "the bridge, `wifimgrd-mqtt`": {
        "connect, disconnect, register, change and remove cameras, also if `[mqtt] commands` is off": (
            _CAGE + "test_shim_and_bridge_control_cameras",
        ),
    },
    "the bridge to ground stations, `wifimgrd-mavlink`": {
        "start and stop recordings on every camera, and set their clocks": (
            _CAGE + "test_the_bridge_to_ground_stations_records_and_no_more",
        ),
    },
    "the camera process, `wifimgrd-camera`": {
        "connect to every Bluetooth device in range, pair with it, read it, write to it, and remove its "
        "bond with this host": (_BLUEZ,),
        "do with connected cameras whatever they allow a client, such as start and stop recordings and "
        "delete files, at the port of its driver": (
            _CAGE + "test_a_connection_that_is_passed_in_works_in_the_camera_process",
            "tests/daemon/camera_client/test_control.py::test_a_process_gets_only_the_port_of_a_cameras_driver",
        ),
    },
    "the helper, `wifimgrd-net`": {
        "make NetworkManager add a profile of any content, activate any, delete any, end any connection, and "
        "stop managing any device": (
            _CAGE + "test_the_helper_activates_any_profile_and_that_is_where_it_ends",
        ),
        "change all of this host's routes, firewall rules and interfaces, and so redirect its traffic": (
            _CAGE + "test_the_helper_writes_its_files_alone",
        ),
    },
    "`wifimgrctl`": {
        "the same as that user": ("tests/system/test_bus.py::test_everybody_may_look",),
        "`backup` and `restore` are for root": (
            "tests/system/test_backup.py::test_root_alone_makes_backups",
        ),
    },
}
"""Those of the other column that matter most."""
