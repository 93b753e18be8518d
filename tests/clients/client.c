/* A client of which gdbus-codegen has made all but this: registers a simulated camera, connects it, and prints its
 * properties, one a line. Usage: client ADDRESS */

#include <stdio.h>
#include <string.h>

#include "hub.h"

static void check(GError *error) {
    if (error != NULL) {
        fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

int main(int argc, char **argv) {
    GError *error = NULL;
    if (argc != 2)
        return 64;
    GDBusConnection *bus = g_dbus_connection_new_for_address_sync(
        argv[1], G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
        NULL, NULL, &error);
    check(error);
    HubManager *manager = hub_manager_proxy_new_sync(bus, G_DBUS_PROXY_FLAGS_NONE, "org.wifimgrd1",
                                                     "/org/wifimgrd1", NULL, &error);
    check(error);
    GVariantBuilder properties;
    g_variant_builder_init(&properties, G_VARIANT_TYPE_VARDICT);
    g_variant_builder_add(&properties, "{sv}", "codename", g_variant_new_string("insta360-x3"));
    g_variant_builder_add(&properties, "{sv}", "connection_type", g_variant_new_string("wifi"));
    g_variant_builder_add(&properties, "{sv}", "ssid", g_variant_new_string("SIM-CAM-1"));
    g_variant_builder_add(&properties, "{sv}", "password", g_variant_new_string("camera-pass-1"));
    gchar *path = NULL;
    hub_manager_call_create_device_sync(manager, g_variant_builder_end(&properties), &path, NULL, &error);
    check(error);
    HubDevice *device =
        hub_device_proxy_new_sync(bus, G_DBUS_PROXY_FLAGS_NONE, "org.wifimgrd1", path, NULL, &error);
    check(error);
    GVariantBuilder options;
    g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
    g_variant_builder_add(&options, "{sv}", "wait", g_variant_new_boolean(TRUE));
    hub_device_call_connect_sync(device, g_variant_builder_end(&options), NULL, &error);
    check(error);

    HubDevice *now = hub_device_proxy_new_sync(bus, G_DBUS_PROXY_FLAGS_NONE, "org.wifimgrd1", path, NULL, &error);
    check(error);
    gsize length = 0;
    const gchar *ssid = g_variant_get_fixed_array(hub_device_get_ssid(now), &length, 1);
    printf("id %" G_GUINT64_FORMAT "\nstate %s\nssid %.*s\n", hub_device_get_id(now), hub_device_get_state(now),
           (int)length, ssid);
    gchar **names = g_dbus_proxy_get_cached_property_names(G_DBUS_PROXY(now));
    for (gchar **name = names; *name != NULL; name++)
        printf("property %s\n", *name);
    g_strfreev(names);
    g_free(path);
    return 0;
}
