"""The questions that people ask are answered, and the flags of the answers exist."""

import re
from pathlib import Path

from tests.docs.test_docs import reference

FAQ = (Path(__file__).parents[2] / "docs" / "faq.md").read_text(encoding="utf-8")

ASKED = (
    "How do I handle seasons and operating modes?",
    "Start-up and shut-down?",
    "Daylight saving?",
    "How do I mute a channel or a maintenance window?",
    "How fast can an alarm be at best?",
    "Which errors can it not see?",
    "Will my model file open in the next version?",
    "Where do alerts go?",
    "How many rows a second, how much memory?",
    "How do I judge it on my own labels?",
    "How do I retrain, and when?",
    "What does it do with a sensor that I remove?",
)


def test_the_twelve_questions_are_answered_at_some_length() -> None:
    for question in ASKED:
        answer = re.search(rf"^\*\*{re.escape(question)}\*\*(.*?)\n\n", FAQ, re.DOTALL | re.MULTILINE)
        assert answer is not None, question
        assert len(answer[1].split()) > 30, question


def test_everyday_jobs_have_a_command_and_flags_that_exist() -> None:
    jobs = [line for line in FAQ.splitlines() if line.startswith("| ") and not line.startswith(("| I want", "| ---"))]
    assert len(jobs) >= 15
    commands = reference.commands()
    flags = {flag for one in commands.values() for parameter in one.params for flag in parameter.opts}
    for job in jobs:
        for command in re.findall(r"ccmtad ([a-z]+)", job):
            assert any(name.split()[0] == command for name in commands), job
        for flag in re.findall(r"(--[a-z-]+)", job):
            assert flag in flags, job


def test_extras_are_named_as_pip_can_install_them() -> None:
    """From an index only where the package is installed already, which an error message can know and a page cannot."""
    root = Path(__file__).parents[2]
    for page in [*(root / "docs").glob("*.md"), root / "README.md", root / "CONTRIBUTING.md"]:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```.*?^```$", text, re.DOTALL | re.MULTILINE):
            assert "install 'ccmtad" not in block, page.name
        said = len(re.findall(r"pip install '?ccmtad", text))
        assert said == (page.name == "faq.md"), page.name
