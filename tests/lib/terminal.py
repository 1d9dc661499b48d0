"""Run a program in a terminal of its own: terminal.py COLUMNS ROWS KEYS -- COMMAND...

KEYS are sent one after the other, half a second of patience between them: letters, or names such as
Enter, Space, Up, Down, Ctrl-C, Ctrl-Z, and wait:TEXT, which waits until TEXT is on the screen, shell:TEXT,
which waits for it on the screen that full-screen programs give back, and size:COLUMNSxROWS. Prints JSON:
all screens, exit code, and whether the terminal was left as it was found.
"""
import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time

NAMES = {"Enter": "\r", "Space": " ", "Up": "\033[A", "Down": "\033[B", "Ctrl-C": "\003", "Ctrl-Z": "\032"}


def screen_of(data, rows):
    """The lines after the last jump to the top left corner, without escapes."""
    last = data.rsplit("\033[H", 1)[-1]
    return [re.sub(r"\033\[[?0-9;]*[a-zA-Z]", "", line) for line in last.replace("\r", "").split("\n")][:rows + 5]


def main():
    columns, rows, keys = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split()
    command = sys.argv[sys.argv.index("--") + 1:]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(slave)
    child = os.fork()
    if child == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(slave, fd)
        os.environ["TERM"] = "xterm"  # whatever started the tests has one of its own, or none
        os.execvp(command[0], command)
    data, status = "", None

    def take(seconds):
        nonlocal data, status
        end = time.time() + seconds
        while time.time() < end and status is None:
            if select.select([master], [], [], 0.1)[0]:
                data += os.read(master, 65536).decode("utf-8", "replace")
            pid, code = os.waitpid(child, os.WNOHANG)
            if pid:
                status = code

    def wait_for(text, seconds, shown):
        end = time.time() + seconds
        while text not in shown() and time.time() < end and status is None:
            take(0.2)

    def full_screen():
        return "\n".join(screen_of(data, rows))

    def given_back():
        return data.rsplit("\033[?1049l", 1)[1] if "\033[?1049l" in data else ""

    screens = []
    for key in keys:
        if key.startswith("wait:"):
            wait_for(key[5:].replace("_", " "), 60, full_screen)
        elif key.startswith("shell:"):
            wait_for(key[6:].replace("_", " "), 60, given_back)
        elif key.startswith("size:"):
            columns, rows = (int(n) for n in key[5:].split("x"))
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            take(0.7)
        else:
            os.write(master, NAMES.get(key, key).encode())
            take(0.7)
        screens.append(screen_of(data, rows))
    take(60)
    after = termios.tcgetattr(slave)
    left = "\033[?1049l" in data and "\033[?25h" in data
    if status is None:
        os.kill(child, 9)
        os.waitpid(child, 0)
    code = None if status is None else os.waitstatus_to_exitcode(status)
    json.dump({"screens": screens, "exit": code, "restored": before == after and left}, sys.stdout)


main()
