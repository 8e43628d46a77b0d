"""`uv pip compile` as the judge: from wheels alone, for a Python, processor and glibc. Answers are kept."""

import hashlib
import json
import os
import subprocess

# DeepSpeed is on the index as source only, and builds without torch and without a compiler.
FROM_SOURCE = ["deepspeed"]
# Its wheels are not on the index.
ELSEWHERE = ["flash-attn"]
# The Python of the machine builds what has to be built; uv would try to download another one each time.
ENVIRONMENT = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
# `3.8` alone is 3.8.0 for uv, which several packages exclude.
NEWEST = {"3.8": "3.8.20"}


class Judge:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        os.makedirs(folder, exist_ok=True)

    def compile(self, lines, python, arch, glibc, *options):
        """The pins that uv finds, by name, and None; or None and what it says."""
        command = ["pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-progress"]
        command += ["--python-version", NEWEST.get(python, python)]
        command += ["--python-platform", "%s-manylinux_%s" % (arch, glibc.replace(".", "_")), *options, "-"]
        text = "\n".join(sorted(lines)) + "\n"
        key = hashlib.sha256(json.dumps([command, text]).encode()).hexdigest()[:32]
        kept = os.path.join(self.folder, key + ".json")
        if os.path.exists(kept):
            with open(kept) as file:
                answer = json.load(file)
        else:
            ran = self.run(command, text)
            # 1: no solution. Anything else is no answer, and not kept.
            if ran.returncode not in (0, 1):
                raise RuntimeError("uv ended with status %d: %s" % (ran.returncode, ran.stderr.strip()))
            answer = {"command": command, "lines": text, "status": ran.returncode}
            answer.update(out=ran.stdout, err=ran.stderr)
            with open(kept + ".part", "w") as file:
                json.dump(answer, file, indent=1)
            os.replace(kept + ".part", kept)
        if answer["status"] != 0:
            return None, answer["err"].strip()
        pins = [line.split(";")[0].strip() for line in answer["out"].splitlines() if "==" in line]
        return dict(pin.split("==", 1) for pin in pins), None

    def run(self, command, text):
        """What the cache of uv has is enough for a stack that installs; only the index can refuse one."""
        for more in (["--offline"], []):
            command_line = [self.program, *command, *more]
            ran = subprocess.run(command_line, env=ENVIRONMENT, input=text, capture_output=True, text=True)
            if ran.returncode == 0:
                break
        return ran

    def wheels(self, lines, python, arch, glibc):
        """The same from wheels alone, but for what has none anywhere."""
        lines = [line for line in lines if name(line) not in ELSEWHERE]
        if not any(name(line) in FROM_SOURCE for line in lines):
            return self.compile(lines, python, arch, glibc, "--only-binary", ":all:")
        # The sources of DeepSpeed are read for its requirements; wheels of everything else must be there.
        named = {name(line) for line in lines} - set(FROM_SOURCE)
        binary = ["--only-binary=" + one for one in sorted(named)]
        pins, error = self.compile(lines, python, arch, glibc, *binary)
        if pins is None:
            return None, error
        rest = ["%s==%s" % pin for pin in pins.items() if pin[0] not in FROM_SOURCE]
        found, error = self.compile(rest, python, arch, glibc, "--only-binary", ":all:")
        return (None, error) if found is None else (pins, None)


def name(line):
    for index, letter in enumerate(line):
        if letter in "=<>!~[ ;@":
            return line[:index]
    return line
