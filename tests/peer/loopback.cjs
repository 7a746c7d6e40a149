// An HTTP server started without a host listens on loopback only.
const net = require("node:net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, host, ...rest) {
  const bare = typeof port === "number" && typeof host !== "string";
  return bare
    ? listen.call(this, port, "127.0.0.1", ...(host ? [host] : []), ...rest)
    : listen.call(this, port, host, ...rest);
};
