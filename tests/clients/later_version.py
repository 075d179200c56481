"""Runs a program against a service as a later version might be.

It stands in front of KEYWARD_URL, hands every request on, and adds to each JSON object of an answer a member, and to the
reasons of revocations a word, that no document of today knows.
"""

import http.client
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

service = urlsplit(os.environ["KEYWARD_URL"])
changed = 0


def later(value: object) -> object:
    """What a later version would answer in the place of a value."""
    if isinstance(value, list):
        return [later(item) for item in value]
    if not isinstance(value, dict):
        return value
    answer = {name: later(member) for name, member in value.items()}
    if "revokedReason" in answer:
        answer["revokedReason"] = "added_later"
    return answer | {"addedLater": {"more": ["than", "before"]}}


class LaterVersion(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def hand_on(self) -> None:
        global changed
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection(service.hostname or "", service.port)
        names = ["Authorization", "Content-Type", "Idempotency-Key", "If-Match"]
        headers = {name: self.headers[name] for name in names if name in self.headers}
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
        if content:
            content = json.dumps(later(json.loads(content))).encode()
            changed += 1
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection", "date", "keep-alive"):
                self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        connection.close()

    do_GET = do_POST = do_PATCH = do_DELETE = hand_on

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), LaterVersion)
threading.Thread(target=server.serve_forever, daemon=True).start()
environment = os.environ | {
    "KEYWARD_URL": f"http://127.0.0.1:{server.server_port}",
    "REVOKED_REASON": "added_later",
}
status = subprocess.run(sys.argv[1:], env=environment).returncode
if changed == 0:
    sys.exit("no answer was changed")
sys.exit(status)
