"""What h2.py, hyper_http1.py, tokio_framed.py and uutils_cat.py share."""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile

# A body of hyper in parts, for programs in Rust.
PARTS = r"""
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{mem, pin::Pin, task::{Context, Poll}, time::Instant};

struct Parts { bytes: &'static [u8], part: usize, works: bool, yields: bool, has_yielded: bool }

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.bytes.is_empty() {
            return Poll::Ready(None);
        }
        if self.yields && !mem::replace(&mut self.has_yielded, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.has_yielded = false;
        let began = Instant::now();
        while self.works && began.elapsed().as_micros() < 10 {}
        let (part, rest) = self.bytes.split_at(self.part.min(self.bytes.len()));
        self.bytes = rest;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(part)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.part < self.bytes.len() { SizeHint::default() } else { SizeHint::with_exact(self.bytes.len() as u64) }
    }
}
"""
HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.abspath(os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "..", "target", "evidence")))


def run(*words, **options):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def interval(logs):
    """The ratio and its 95 % interval by Student's t, from one logarithm a round."""
    mean = statistics.mean(logs)
    if len(logs) < 3:
        return math.exp(mean), 0, math.inf
    quantiles = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 11: 2.201, 15: 2.131, 19: 2.093}
    quantile = next((q for freedom, q in sorted(quantiles.items(), reverse=True) if freedom <= len(logs) - 1))
    half = quantile * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def in_words(ratio):
    return f"{ratio[0]:.2f}" if ratio[2] == math.inf else f"{ratio[0]:.2f} [{ratio[1]:.2f}, {ratio[2]:.2f}]"


def options(documentation, cases, rounds, *flags, servers=None):
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=lambda word: word.split(","), default=cases.split())
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=0.1, help="of a load")
    parser.add_argument("--json", metavar="FILE")
    if servers:
        parser.add_argument("--servers", type=lambda word: word.split(","), default=servers)
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def fetched(name, version):
    """The folder of a package's source in cargo's registry."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "src"))
        write(os.path.join(folder, "src", "lib.rs"), "")
        write(os.path.join(folder, "Cargo.toml"), f'[package]\nname = "fetch"\nedition = "2021"\n[dependencies]\n{name} = "={version}"\n')
        packages = json.loads(run("cargo", "metadata", "--quiet", "--format-version", "1", cwd=folder))["packages"]
    return next(os.path.dirname(one["manifest_path"]) for one in packages if one["name"] == name)


def is_built(folder, stamp):
    """Whether the folder was built from the same texts. If not, it is deleted."""
    path = os.path.join(folder, "stamp")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == stamp:
                return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def replace(path, old, new):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        raise SystemExit(f"{path} has changed: {old!r} is not there once")
    write(path, text.replace(old, new))


def certificate(folder):
    """The files of a certificate for localhost and of its key."""
    files = [os.path.join(folder, name) for name in ("certificate", "key")]
    request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    run(*request.split(), "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=CA:FALSE", "-out", files[0], "-keyout", files[1], stderr=subprocess.DEVNULL)
    return files


def in_turns(names, number, load):
    """A round: `load` of each name, and of "old" again, in an order that alternates."""
    order = [*names, "again"]
    return {name: load("old" if name == "again" else name) for name in (order if number % 2 else order[::-1])}


def against(rounds, which, figure="cpu_us"):
    """The ratio to the mean of both runs of old."""
    if which not in rounds[0]:
        return ""
    return in_words(interval([math.log(one[which][figure] / math.sqrt(one["old"][figure] * one["again"][figure])) for one in rounds]))


def again(rounds):
    """A/A: the second run of old ÷ the first."""
    return in_words(interval([math.log(one["again"]["cpu_us"] / one["old"]["cpu_us"]) for one in rounds]))


def middles(rounds, figure, digits, names):
    return " / ".join(f"{statistics.median(one[which][figure] for one in rounds):.{digits}f}" for which in names)


def table(columns, results, cells, saved):
    """Prints a row for each result as soon as it is there."""
    print(f"| case | {columns} |\n|---|{'---:|' * (columns.count(' | ') + 1)}")
    found = []
    for result in results:
        found.append(result)
        print(f"| `{result['case']}` | {' | '.join(cells(result))} |", flush=True)
        if saved:
            write(saved, json.dumps(found))
