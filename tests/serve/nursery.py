"""Starts `ccmtad serve` again and again without importing it anew: a process that has everything loaded, and forks.

Each line on standard input is a JSON list: ["start", FILE, arguments...] answers with a process id, whose output goes
to the file; ["wait", ID] answers with how it ended, once it has; ["poll", ID] at once, null where it has not.
"""

import json
import os
import sys


def child(out: str, arguments: list[str]) -> None:
    descriptor = os.open(out, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    from ccmtad.cli import main

    sys.argv = ["ccmtad", "serve", *arguments]
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def ended(process: int, options: int) -> int | None:
    found, status = os.waitpid(process, options)
    return os.waitstatus_to_exitcode(status) if found else None


def answer(value: object) -> None:
    os.write(1, json.dumps(value).encode() + b"\n")


def serve() -> None:
    import uvicorn.lifespan.on
    import uvicorn.loops.auto
    import uvicorn.protocols.http.auto  # noqa: F401

    import ccmtad.cli.app
    import ccmtad.serve.run  # noqa: F401
    from ccmtad import Detector

    detector = Detector.load(sys.argv[1])
    stream = detector.stream()
    for _ in range(20):  # so that every compiled step is loaded
        stream.update([0.0] * len(detector.model_.channels))
    for line in sys.stdin:
        what, *words = json.loads(line)
        if what == "start":
            process = os.fork()
            if not process:
                child(words[0], words[1:])
            answer(process)
        else:
            answer(ended(words[0], 0 if what == "wait" else os.WNOHANG))


if __name__ == "__main__":
    serve()
