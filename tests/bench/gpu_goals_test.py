"""scripts/gpu_goals.py on a simulated device: a row for each goal, which no such device reaches, and what is wrong in words."""

import os
import re
import subprocess
import sys


def run(script, *words, devices="1"):
    result = subprocess.run([sys.executable, script, *words], env={**os.environ, "ATOLL_SIM_DEVICES": devices},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return result.returncode, result.stdout


def main():
    script, atoll, heat3d = sys.argv[1:]
    programs = ["--atoll", atoll, "--heat3d", heat3d, "--backend", "device-sim", "--heat-only", "--repeat", "1"]
    few = ["--gpus", "1", "--edges", "100", "--steps", "1", "--limit", "echo limit of"]
    status, text = run(script, *programs, *few)
    rows = re.findall(r"^ *100³ +1 +(\w+) +\d+\.\d +\d+\.\d +1 +(\d+) +MISSED$", text, re.M)
    if status != 1 or rows != [("device", "7"), ("graph", "10")] or "2 goals missed" not in text:
        sys.exit(f"FAILED: status {status}, rows {rows}\n{text}")
    status, text = run(script, *programs, *few, devices="0")
    if status == 0 or "atoll-heat3d --exchange device ended with" not in text or "has no device" not in text:
        sys.exit(f"FAILED: status {status} without a device\n{text}")
    status, text = run(script, *programs, "--gpus", "1", "--edges", "150")
    if status == 0 or "--edges: there are goals for 100, 200, 400, 800, not for 150" not in text:
        sys.exit(f"FAILED: status {status} of an edge without a goal\n{text}")
    status, text = run(script, *programs, "--gpus", "0")
    if status == 0 or "no GPU here" not in text:
        sys.exit(f"FAILED: status {status} without a GPU\n{text}")


if __name__ == "__main__":
    main()
