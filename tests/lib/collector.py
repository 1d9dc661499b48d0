#!/usr/bin/env python3
"""A collector for tests: takes POST /v1/traces on a port of its own, which it prints, and keeps the bodies.

Usage: collector.py FOLDER [ANSWER...]

Each ANSWER is for one request, the last for all that follow: a status ("200", "503"), "429:2" with Retry-After, "400", "partial:N",
"hang" (no answer), "nonsense" (bytes that are not HTTP), "close" (at once), "slow:S". Bodies go to FOLDER/NUMBER.CODE.TYPE, with
the second at which they came in FOLDER/times.
"""
import http.server
import pathlib
import socketserver
import sys
import threading
import time

folder = pathlib.Path(sys.argv[1])
answers = sys.argv[2:] or ["200"]
lock = threading.Lock()
count = 0


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        global count
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            answer = answers[min(count, len(answers) - 1)]
            count += 1
            kind = "json" if "json" in self.headers["Content-Type"] else "pb"
            word, _, number = answer.partition(":")
            (folder / f"{count:04d}.{word}.{kind}").write_bytes(body)
            with open(folder / "times", "a", encoding="ascii") as file:
                file.write(f"{time.monotonic():.3f} {self.path}\n")
        if word == "hang":
            time.sleep(3600)
        if word == "nonsense":
            self.wfile.write(b"\x16\x03\x01 what?\r\n\r\n" * 100)
            self.close_connection = True
            return
        if word == "close":
            self.close_connection = True
            return
        if word == "slow":
            time.sleep(float(number))
            word = "200"
        message = b""
        if word == "partial":
            partial = b"\x08" + varint(int(number)) + b"\x12\x04full"
            message, word = b"\x0a" + varint(len(partial)) + partial, "200"
        self.send_response(int(word))
        if word == "429" and number:
            self.send_header("Retry-After", number)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(message)))
        self.end_headers()
        self.wfile.write(message)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
(folder / "port.new").write_text(str(server.server_port))
(folder / "port.new").rename(folder / "port")
server.serve_forever()
