"""Starts `ccmtad` again and again without importing it anew: a process that has everything loaded, and forks.

Each line on standard input is a JSON list of arguments, the first two the files for standard output and error; the
answer is the process id. After that, any line waits for its end, and the answer is how it ended.
"""

import json
import os
import sys


def child(out: str, errors: str, arguments: list[str]) -> None:
    for descriptor, path in ((1, out), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), descriptor)
    from ccmtad.cli import main

    sys.argv = ["ccmtad", *arguments]
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    os._exit(code)


def answer(number: int) -> None:
    os.write(1, b"%d\n" % number)


def serve() -> None:
    import ccmtad.cli.app
    import ccmtad.live.watch  # noqa: F401
    from ccmtad import Detector

    detector = Detector.load(sys.argv[1])
    stream = detector.stream()
    for _ in range(20):  # so that every compiled step is loaded
        stream.update([0.0] * len(detector.model_.channels))
    for line in sys.stdin:
        out, errors, *arguments = json.loads(line)
        process = os.fork()
        if not process:
            child(out, errors, arguments)
        answer(process)
        sys.stdin.readline()
        answer(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


if __name__ == "__main__":
    serve()
