// What users import in node: the same, and a client without an address finds the daemon of this user.
import { setNear } from "./client.js";
import { findSocket, socketFetch } from "./node.js";

setNear(() => ({ url: "http://localhost", fetch: socketFetch(findSocket()) }));

export * from "./index.js";
