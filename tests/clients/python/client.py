"""Uses keys and projects with the generated client, as a user's program would."""

import os
from base64 import b64encode
from datetime import datetime, timedelta, timezone
from http import HTTPStatus
from typing import TypeVar

from keyward_api_client import AuthenticatedClient, Client
from keyward_api_client.api.api_keys import (
    create_api_key,
    delete_api_key,
    get_api_key,
    list_api_keys,
    rotate_api_key,
    update_api_key,
)
from keyward_api_client.api.leaked_keys import report_leaked_keys
from keyward_api_client.api.projects import get_project, list_projects
from keyward_api_client.api.user import get_user
from keyward_api_client.api.verification_by_others import authenticate_request, introspect_token
from keyward_api_client.models import (
    ApiKey,
    ApiKeyPage,
    ApiKeyStatus,
    CreateApiKeyRequest,
    CreatedApiKey,
    Introspection,
    IntrospectionRequest,
    LeakedKeyToken,
    LeakReport,
    OldKeyEnds,
    Problem,
    Project,
    ProjectPage,
    RotateApiKeyRequest,
    UpdateApiKeyRequest,
    User,
)
from keyward_api_client.types import UNSET, Unset

T = TypeVar("T")


def answered(kind: type[T], answer: object) -> T:
    """What was answered, which must not be a problem."""
    assert isinstance(answer, kind), answer
    return answer


def with_key(token: str) -> AuthenticatedClient:
    return AuthenticatedClient(os.environ["KEYWARD_URL"], token, raise_on_unexpected_status=True)


def introspected(token: str) -> Introspection:
    """What a resource server is told of a token."""
    credentials = b64encode(f"{os.environ['VERIFIER']}:{os.environ['VERIFIER_SECRET']}".encode()).decode()
    verifier = AuthenticatedClient(os.environ["KEYWARD_URL"], credentials, prefix="Basic")
    return answered(Introspection, introspect_token.sync(client=verifier, body=IntrospectionRequest(token)))


keyward = with_key(os.environ["KEYWARD_API_KEY"])

created = [
    answered(
        CreatedApiKey,
        create_api_key.sync(client=keyward, body=CreateApiKeyRequest(name, "by Python", can_manage_keys=name != "Nightly")),
    )
    for name in ["Nightly", "Weekly", "每年"]
]
nightly = created[0]
assert nightly.key.startswith("kwp_") and len(nightly.key) == 42

user = answered(User, get_user.sync(client=with_key(nightly.key)))
assert user.api_key.id == nightly.id and user.api_key.can_manage_keys is False
ungranted = answered(
    Problem, create_api_key.sync(client=with_key(nightly.key), body=CreateApiKeyRequest("Hourly"))
)
assert ungranted.code == "key_may_not_manage_keys"

listed: list[ApiKey] = []
cursor: str | Unset = UNSET
while True:
    search = "Python" if isinstance(cursor, Unset) else UNSET
    page = answered(ApiKeyPage, list_api_keys.sync(client=keyward, limit=2, cursor=cursor, search=search))
    assert len(page.items) <= 2
    listed += page.items
    if isinstance(page.next_cursor, Unset):
        break
    cursor = page.next_cursor
assert [key.id for key in listed] == [key.id for key in reversed(created)]
assert all(key.status is ApiKeyStatus.VALID and isinstance(key.revoked_at, Unset) for key in listed)

weekly = created[1]
end = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=30)
planned = update_api_key.sync(weekly.id, client=keyward, body=UpdateApiKeyRequest(expires_at=end))
assert answered(ApiKey, planned).expires_at == end
end -= timedelta(days=1)
moved = update_api_key.sync(weekly.id, client=keyward, body=UpdateApiKeyRequest(expires_at=end))
assert answered(ApiKey, moved).expires_at == end
assert introspected(weekly.key).exp == int(end.timestamp())
for before, expected in [(end, []), (end + timedelta(milliseconds=1), [weekly.id])]:
    expiring = answered(ApiKeyPage, list_api_keys.sync(client=keyward, expires_before=before))
    assert [key.id for key in expiring.items] == expected
unset = update_api_key.sync(weekly.id, client=keyward, body=UpdateApiKeyRequest(expires_at=None))
assert isinstance(answered(ApiKey, unset).expires_at, Unset)
expiring_key = answered(
    CreatedApiKey, create_api_key.sync(client=keyward, body=CreateApiKeyRequest("Expires", expires_at=end))
)
assert expiring_key.expires_at == end

retried = CreateApiKeyRequest("Retried")
first_sent = answered(CreatedApiKey, create_api_key.sync(client=keyward, body=retried, idempotency_key="retry"))
sent_again = answered(Problem, create_api_key.sync(client=keyward, body=retried, idempotency_key="retry"))
assert (sent_again.code, sent_again.id) == ("already_created", first_sent.id)

rotation = RotateApiKeyRequest(old_key_ends=OldKeyEnds.AT_ONCE)
successor = answered(CreatedApiKey, rotate_api_key.sync(first_sent.id, client=keyward, body=rotation))
assert answered(User, get_user.sync(client=with_key(successor.key))).api_key.id == successor.id
rotated = answered(ApiKey, get_api_key.sync(first_sent.id, client=keyward))
assert (rotated.status, rotated.rotated_to_id) == (ApiKeyStatus.REVOKED, successor.id)
rotated_again = answered(Problem, rotate_api_key.sync(first_sent.id, client=keyward, body=rotation))
assert (rotated_again.code, rotated_again.id) == ("already_rotated", successor.id)

renamed = answered(
    ApiKey, update_api_key.sync(nightly.id, client=keyward, body=UpdateApiKeyRequest(name="Hourly"))
)
assert renamed.name == "Hourly"
assert get_api_key.sync(nightly.id, client=keyward) == renamed

tag = get_api_key.sync_detailed(nightly.id, client=keyward).headers["ETag"]
first = update_api_key.sync(
    nightly.id, client=keyward, body=UpdateApiKeyRequest(description="first"), if_match=tag
)
assert answered(ApiKey, first).description == "first"
late = update_api_key.sync(
    nightly.id, client=keyward, body=UpdateApiKeyRequest(description="second"), if_match=tag
)
assert answered(Problem, late).code == "precondition_failed"
unseen = delete_api_key.sync(nightly.id, client=keyward, if_match=tag)
assert answered(Problem, unseen).code == "precondition_failed"

reached: list[Project] = []
cursor = UNSET
while True:
    projects = answered(ProjectPage, list_projects.sync(client=keyward, limit=1, cursor=cursor))
    assert len(projects.items) <= 1
    reached += projects.items
    if isinstance(projects.next_cursor, Unset):
        break
    cursor = projects.next_cursor
assert [project.name for project in reached] == ["Engine", "差分機関"]
assert get_project.sync(reached[1].id, client=keyward) == reached[1]
unreached = answered(Problem, get_project.sync(nightly.id, client=keyward))
assert unreached.code == "not_found"

passed = authenticate_request.sync_detailed(client=with_key(nightly.key), project=reached[0].id)
assert passed.status_code is HTTPStatus.OK
assert passed.headers["X-Consumer-ID"] == user.consumer_id
assert passed.headers["X-Credential-Identifier"] == nightly.id
assert authenticate_request.sync_detailed(client=keyward).status_code is HTTPStatus.OK
outside = answered(Problem, authenticate_request.sync(client=keyward, project=nightly.id))
assert outside.code == "forbidden"

known = introspected(nightly.key)
assert known.active and (known.jti, known.client_id) == (nightly.id, user.consumer_id)
assert not isinstance(known.projects, Unset) and len(known.projects) == 2 and isinstance(known.exp, Unset)

leaked = answered(CreatedApiKey, create_api_key.sync(client=keyward, body=CreateApiKeyRequest("Leaked")))
report = LeakReport([LeakedKeyToken(leaked.key, url="https://git.example.com/a.sh", type_="commit")])
anybody = Client(os.environ["KEYWARD_URL"], raise_on_unexpected_status=True)
assert report_leaked_keys.sync_detailed(client=anybody, body=report).status_code is HTTPStatus.ACCEPTED
assert answered(Problem, get_user.sync(client=with_key(leaked.key))).code == "invalid_token"
assert answered(ApiKey, get_api_key.sync(leaked.id, client=keyward)).status is ApiKeyStatus.REVOKED

for key in created:
    assert delete_api_key.sync_detailed(key.id, client=keyward).status_code is HTTPStatus.NO_CONTENT
revoked = answered(ApiKey, get_api_key.sync(nightly.id, client=keyward))
assert revoked.status is ApiKeyStatus.REVOKED
assert revoked.revoked_reason == os.environ.get("REVOKED_REASON", "holder")
assert not isinstance(revoked.revoked_at, Unset) and revoked.revoked_at >= revoked.created_at

refused = answered(Problem, get_user.sync(client=with_key(nightly.key)))
assert refused.code == "invalid_token"
unknown = introspected(nightly.key)
assert unknown.active is False and isinstance(unknown.sub, Unset)
problem = answered(Problem, create_api_key.sync(client=keyward, body=CreateApiKeyRequest("")))
assert problem.status == HTTPStatus.UNPROCESSABLE_ENTITY
assert not isinstance(problem.errors, Unset) and [error.pointer for error in problem.errors] == ["/name"]

print("OK")
