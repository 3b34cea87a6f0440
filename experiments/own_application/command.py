"""The application as a program: one JSON object on standard input, one on standard output."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from app import answer

asked = json.load(sys.stdin)
json.dump(answer(asked["question"], asked["settings"]), sys.stdout)
