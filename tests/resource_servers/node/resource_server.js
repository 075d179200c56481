// A resource server that introspects its clients' tokens with oauth4webapi.
//
// Each line of standard input is what a client sends in the header `Authorization`; each line of standard output is what
// the server then knows of it, or why it refuses the request.

import { createInterface } from "node:readline";
import * as oauth from "oauth4webapi";

const { KEYWARD_URL, VERIFIER, VERIFIER_SECRET } = process.env;
const keyward = { issuer: KEYWARD_URL, introspection_endpoint: `${KEYWARD_URL}/api/v1/introspect` };
const client = { client_id: VERIFIER };
const authentication = oauth.ClientSecretBasic(VERIFIER_SECRET);
// The tests have no TLS.
const options = { [oauth.allowInsecureRequests]: true };

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await known(line.trim())));
}

async function known(authorization) {
  const [scheme, token] = authorization.split(" ");
  if (scheme !== "Bearer") return { refused: "missing_authorization" };
  try {
    const response = await oauth.introspectionRequest(keyward, client, authentication, token, options);
    const found = await oauth.processIntrospectionResponse(keyward, client, response);
    return found.active ? { accepted: found } : { refused: "invalid_token" };
  } catch (error) {
    if (error.response || error.cause instanceof Response) return { failed: (error.response ?? error.cause).status };
    throw error;
  }
}
