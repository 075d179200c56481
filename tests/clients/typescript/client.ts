// Uses keys and projects with the generated client, as a user's program would.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./v1.js";

type ApiKey = components["schemas"]["ApiKey"];
type CreatedApiKey = components["schemas"]["CreatedApiKey"];
type Project = components["schemas"]["Project"];
type Problem = components["schemas"]["Problem"];

function environment(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

/** What was answered, which must not be a problem. */
function answered<T>(answer: { data?: T; error?: Problem }): T {
  if (answer.data === undefined) throw new Error(`${answer.error?.code}: ${answer.error?.detail}`);
  return answer.data;
}

const baseUrl = environment("KEYWARD_URL");
const withKey = (token: string) =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
const keyward = withKey(environment("KEYWARD_API_KEY"));
const anybody = createClient<paths>({ baseUrl });
const credentials = btoa(`${environment("VERIFIER")}:${environment("VERIFIER_SECRET")}`);
const verifier = createClient<paths>({ baseUrl, headers: { Authorization: `Basic ${credentials}` } });
const form = { "Content-Type": "application/x-www-form-urlencoded" };
const introspected = async (token: string) =>
  answered(await verifier.POST("/api/v1/introspect", { body: { token }, headers: form }));
const one = (id: string) => ({ params: { path: { id } } });

const created: CreatedApiKey[] = [];
for (const name of ["Nightly", "Weekly", "每年"]) {
  created.push(answered(await keyward.POST("/api/v1/user/api-keys", { body: { name, description: "by TypeScript", canManageKeys: name !== "Nightly" } })));
}
const [nightly, weekly] = created;
assert(nightly && weekly);
assert.match(nightly.key, /^kwp_[0-9A-Za-z]{38}$/);

const user = answered(await withKey(nightly.key).GET("/api/v1/user"));
assert.equal(user.apiKey.id, nightly.id);
assert.equal(user.apiKey.canManageKeys, false);
const ungranted = await withKey(nightly.key).POST("/api/v1/user/api-keys", { body: { name: "Hourly" } });
assert.equal(ungranted.error?.code, "key_may_not_manage_keys");

const listed: ApiKey[] = [];
let cursor: string | undefined;
do {
  const query = cursor === undefined ? { limit: 2, search: "TypeScript" } : { limit: 2, cursor };
  const page = answered(await keyward.GET("/api/v1/user/api-keys", { params: { query } }));
  assert(page.items.length <= 2);
  listed.push(...page.items);
  cursor = page.nextCursor;
} while (cursor !== undefined);
assert.deepEqual(listed.map((key) => key.id), created.map((key) => key.id).reverse());
assert(listed.every((key) => key.status === "valid" && key.revokedAt === undefined));

const day = 24 * 60 * 60 * 1000;
const planned = Math.floor(Date.now() / 1000) * 1000 + 30 * day;
const at = (time: number) => new Date(time).toISOString();
for (const time of [planned, planned - day]) {
  const body = { expiresAt: at(time) };
  const changed: ApiKey = answered(await keyward.PATCH("/api/v1/user/api-keys/{id}", { ...one(weekly.id), body }));
  assert.equal(changed.expiresAt, at(time));
}
const end = planned - day;
assert.equal((await introspected(weekly.key)).exp, end / 1000);
for (const [before, ids] of [[end, []], [end + 1, [weekly.id]]] as const) {
  const query = { expires_before: at(before) };
  const expiring = answered(await keyward.GET("/api/v1/user/api-keys", { params: { query } }));
  assert.deepEqual(expiring.items.map((key) => key.id), ids);
}
const unset = { ...one(weekly.id), body: { expiresAt: null } };
assert.equal(answered(await keyward.PATCH("/api/v1/user/api-keys/{id}", unset)).expiresAt, undefined);
const expiring = { body: { name: "Expires", expiresAt: at(end) } };
assert.equal(answered(await keyward.POST("/api/v1/user/api-keys", expiring)).expiresAt, at(end));

const retry = { params: { header: { "Idempotency-Key": "retry" } }, body: { name: "Retried" } };
const first = answered(await keyward.POST("/api/v1/user/api-keys", retry));
const again = await keyward.POST("/api/v1/user/api-keys", retry);
assert.equal(again.error?.code, "already_created");
assert.equal(again.error?.id, first.id);

const rotation = { ...one(first.id), body: { oldKeyEnds: "at_once" as const } };
const successor = answered(await keyward.POST("/api/v1/user/api-keys/{id}/rotate", rotation));
assert.equal(answered(await withKey(successor.key).GET("/api/v1/user")).apiKey.id, successor.id);
const rotated = answered(await keyward.GET("/api/v1/user/api-keys/{id}", one(first.id)));
assert.deepEqual([rotated.status, rotated.rotatedToId], ["revoked", successor.id]);
const rotatedAgain = await keyward.POST("/api/v1/user/api-keys/{id}/rotate", rotation);
assert.deepEqual([rotatedAgain.error?.code, rotatedAgain.error?.id], ["already_rotated", successor.id]);

const renamed = answered(
  await keyward.PATCH("/api/v1/user/api-keys/{id}", { ...one(nightly.id), body: { name: "Hourly" } }),
);
assert.equal(renamed.name, "Hourly");
assert.deepEqual(answered(await keyward.GET("/api/v1/user/api-keys/{id}", one(nightly.id))), renamed);

const { response: seen } = await keyward.GET("/api/v1/user/api-keys/{id}", one(nightly.id));
const tag = seen.headers.get("ETag");
assert(tag);
const asSeen = { params: { path: { id: nightly.id }, header: { "If-Match": tag } } };
answered(await keyward.PATCH("/api/v1/user/api-keys/{id}", { ...asSeen, body: { description: "first" } }));
const late = await keyward.PATCH("/api/v1/user/api-keys/{id}", { ...asSeen, body: { description: "second" } });
assert.equal(late.error?.code, "precondition_failed");
const unseen = await keyward.DELETE("/api/v1/user/api-keys/{id}", asSeen);
assert.equal(unseen.error?.code, "precondition_failed");

const reached: Project[] = [];
cursor = undefined;
do {
  const query: { limit: number; cursor?: string } = cursor === undefined ? { limit: 1 } : { limit: 1, cursor };
  const page: components["schemas"]["ProjectPage"] = answered(
    await keyward.GET("/api/v1/user/projects", { params: { query } }),
  );
  assert(page.items.length <= 1);
  reached.push(...page.items);
  cursor = page.nextCursor;
} while (cursor !== undefined);
assert.deepEqual(reached.map((project) => project.name), ["Engine", "差分機関"]);
const [, last] = reached;
assert(last);
assert.deepEqual(answered(await keyward.GET("/api/v1/user/projects/{id}", one(last.id))), last);
const unreached = await keyward.GET("/api/v1/user/projects/{id}", one(nightly.id));
assert.equal(unreached.error?.code, "not_found");

const asked = { params: { query: { project: last.id } } };
const { response: passed } = await withKey(nightly.key).GET("/api/v1/auth", asked);
assert.equal(passed.status, 200);
assert.equal(passed.headers.get("X-Consumer-ID"), user.consumerId);
assert.equal(passed.headers.get("X-Credential-Identifier"), nightly.id);
assert.equal((await keyward.GET("/api/v1/auth")).response.status, 200);
const outside = await keyward.GET("/api/v1/auth", { params: { query: { project: nightly.id } } });
assert.equal(outside.error?.code, "forbidden");

const known = await introspected(nightly.key);
assert.deepEqual([known.active, known.jti, known.client_id], [true, nightly.id, user.consumerId]);
assert.deepEqual([known.projects?.length, known.exp], [2, undefined]);

const leaked = answered(await keyward.POST("/api/v1/user/api-keys", { body: { name: "Leaked" } }));
const tokens = [{ token: leaked.key, url: "https://git.example.com/a.sh", type: "commit" }];
const { response: reported } = await anybody.POST("/api/v1/leaked-keys", { body: { tokens } });
assert.equal(reported.status, 202);
assert.equal((await withKey(leaked.key).GET("/api/v1/user")).error?.code, "invalid_token");
assert.equal(answered(await keyward.GET("/api/v1/user/api-keys/{id}", one(leaked.id))).status, "revoked");

for (const { id } of created) {
  const { response } = await keyward.DELETE("/api/v1/user/api-keys/{id}", one(id));
  assert.equal(response.status, 204);
}
const revoked = answered(await keyward.GET("/api/v1/user/api-keys/{id}", one(nightly.id)));
assert.equal(revoked.status, "revoked");
assert.equal(revoked.revokedReason, process.env["REVOKED_REASON"] ?? "holder");

const refused = await withKey(nightly.key).GET("/api/v1/user");
assert.equal(refused.error?.code, "invalid_token");
const unknown = await introspected(nightly.key);
assert.deepEqual([unknown.active, unknown.sub], [false, undefined]);
const invalid = await keyward.POST("/api/v1/user/api-keys", { body: { name: "" } });
const problem: Problem | undefined = invalid.error;
assert.equal(problem?.status, 422);
assert.deepEqual(problem?.errors?.map((error) => error.pointer), ["/name"]);

console.log("OK");
