"""A resource server that validates its clients' tokens with Authlib.

Each line of standard input is what a client sends in the header `Authorization`; each line of standard output is what the
server then knows of it, or why it refuses the request.
"""

import json
import os
import sys
from types import SimpleNamespace

from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2 import OAuth2Error, ResourceProtector
from authlib.oauth2.rfc7662 import IntrospectTokenValidator
from requests import HTTPError

INTROSPECTION = os.environ["KEYWARD_URL"] + "/api/v1/introspect"
SESSION = OAuth2Session(os.environ["VERIFIER"], os.environ["VERIFIER_SECRET"])


class KeywardValidator(IntrospectTokenValidator):
    def introspect_token(self, token_string):
        response = SESSION.introspect_token(INTROSPECTION, token=token_string, token_type_hint="access_token")
        response.raise_for_status()
        return response.json()


protector = ResourceProtector()
protector.register_token_validator(KeywardValidator())

for line in sys.stdin:
    request = SimpleNamespace(headers={"Authorization": line.strip()})
    try:
        known = {"accepted": protector.validate_request([], request)}
    except OAuth2Error as error:
        known = {"refused": error.error}
    except HTTPError as error:
        known = {"failed": error.response.status_code}
    print(json.dumps(known), flush=True)
