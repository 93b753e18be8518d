// Where the management channel is.

export function channelAddress(): URL {
  const address = new URL("ws/management/", document.baseURI);
  address.protocol = address.protocol.replace("http", "ws");
  return address;
}
