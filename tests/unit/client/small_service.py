"""A service in a process of its own that can be killed: `small_service.py PORT DELAY_S`. Right is what equals the gold."""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(float(sys.argv[2]))
        groups = []
        for group in body["groups"]:
            scores = [float(text == group["verifiers"][0]["gold"]) for text in group["completions"]]
            verifier = {"name": "math", "version": "1"}
            verdicts = [
                [{"status": "scored", "kind": "math", "score": score, "outcome": "correct", "verifier": verifier}]
                for score in scores
            ]
            stats = {"unscored": 0, "zero_variance": False}
            groups.append({"id": group["id"], "rewards": scores, "verdicts": verdicts, "stats": stats})
        content = json.dumps({"protocol": "1", "groups": groups, "timing": {"total_ms": 1.0}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


with Server(("127.0.0.1", int(sys.argv[1])), Handler) as server:
    print("ready", flush=True)
    server.serve_forever()
