//! Golden files of the output, from the simulated machine.

use serde_json::Value;

use crate::support::{Bench, MACHINE, stdout_of};

#[test]
fn the_table_of_the_usual_grid() {
    insta::assert_snapshot!(stdout_of(&mut Bench::new().synthetic()));
}

#[test]
fn the_markdown() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args([
        "--target",
        "pipe",
        "--segments",
        "2,16",
        "--format",
        "markdown",
    ]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_csv() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--target", "unix", "--segments", "2", "--format", "csv"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn a_noisy_machine_within_a_small_budget_stays_open() {
    let bench = Bench::new();
    let mut command = bench.vectored();
    let costs = "call=200,segment=20,byte=0.03,copy-segment=15,copy-byte=0.01,sigma=0.3";
    command.args([
        "measure",
        "--synthetic",
        costs,
        "--seed",
        "7",
        "--target",
        "pipe",
    ]);
    command.args(["--budget", "300ms", "--segments", "2,16"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn only_the_named_techniques_compete() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args([
        "--target",
        "pipe",
        "--segments",
        "16",
        "--sizes",
        "16..4096",
    ]);
    command.args(["--technique", "writev", "--technique", "write-each"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_table_of_reads() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--operation", "read", "--page-cache", "cold"]);
    command.args(["--target", "file", "--target", "pipe", "--segments", "2,16"]);
    insta::assert_snapshot!(stdout_of(&mut command));
    let results = bench.only_result();
    for cell in results["cells"].as_array().unwrap() {
        assert_eq!(cell["operation"], "read");
        let is_file = cell["target"] == "file";
        let expected = if is_file { "cold".into() } else { Value::Null };
        assert_eq!(cell["page_cache"], expected);
        let techniques = cell["techniques"].as_array().unwrap().iter();
        let names: Vec<_> = techniques.map(|technique| &technique["name"]).collect();
        assert_eq!(names, ["read-each", "read-then-split", "readv", "adaptive"]);
    }
}

#[test]
fn the_table_of_asynchronous_writes_past_the_page_cache() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--direct", "--target", "file-overwrite", "--segments", "10"]);
    command.args(["--sizes", "100,512,4KiB", "--queue-depth", "1,8,64"]);
    command.args(["--technique", "io-uring,linux-aio"]);
    insta::assert_snapshot!(stdout_of(&mut command));
    let cells = &bench.only_result()["cells"];
    let direct = serde_json::json!({"memory_bytes": 512, "offset_bytes": 512});
    for cell in cells.as_array().unwrap() {
        assert_eq!(cell["direct"], direct);
    }
}

#[test]
fn the_csv_of_reads_past_the_page_cache() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--direct", "--operation", "read", "--target", "file"]);
    command.args(["--segments", "2", "--sizes", "1KiB", "--format", "csv"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_markdown_of_reads() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--operation", "read", "--target", "file", "--segments", "2"]);
    command.args(["--technique", "adaptive", "--technique", "readv"]);
    command.args(["--format", "markdown"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_table_of_mixes() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--mix", "9x16,1x4096", "--mix", "64KiB,1x16,2x100,1x8"]);
    command.args(["--mix", "3x100", "--target", "pipe"]);
    insta::assert_snapshot!(stdout_of(&mut command));
    let cells = &bench.only_result()["cells"];
    assert_eq!(cells[0]["segment_count"], 10);
    assert_eq!(cells[0]["segment_bytes"], Value::Null);
    assert_eq!(
        cells[0]["segment_sizes"],
        serde_json::json!([[9, 16], [1, 4096]])
    );
    assert_eq!(cells[2]["segment_bytes"], 100);
    assert_eq!(cells[2]["segment_sizes"], Value::Null);
}

#[test]
fn the_table_of_several_states() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--cache", "cold,hot", "--iovec-setup", "once"]);
    command.args(["--layout", "adjacent", "--layout", "scattered"]);
    command.args(["--target", "pipe", "--segments", "16", "--sizes", "64,4KiB"]);
    insta::assert_snapshot!(stdout_of(&mut command));
    let results = bench.only_result();
    let cells = results["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 8);
    for cell in cells {
        assert_eq!(cell["iovec_setup"], "once");
    }
    for (state, values) in [
        ("cache", ["hot", "cold"]),
        ("layout", ["scattered", "adjacent"]),
    ] {
        for value in values {
            let of_it = cells.iter().filter(|cell| cell[state] == value);
            assert_eq!(of_it.count(), 4, "{value}");
        }
    }
}

#[test]
fn the_markdown_of_techniques_that_must_be_named() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--technique", "writev,pwritev2,send-more,stdio,mmap"]);
    command.args(["--segments", "16", "--sizes", "64", "--cache", "cold"]);
    command.args(["--format", "markdown"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_table_of_asynchronous_techniques() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--technique", "io-uring,linux-aio"]);
    command.args(["--target", "file,pipe,null", "--queue-depth", "1,8,64"]);
    command.args(["--segments", "16", "--sizes", "64,16KiB"]);
    insta::assert_snapshot!(stdout_of(&mut command));
    let results = bench.only_result();
    let cells = results["cells"].as_array().unwrap();
    let depths: Vec<_> = cells.iter().map(|cell| &cell["queue_depth"]).collect();
    assert_eq!(depths, [1, 8, 64, 1, 8, 64, 1, 1, 1, 8, 64, 1, 8, 64]);
    let technique = &cells[0]["techniques"][0];
    assert_eq!(technique["name"], "writev");
    assert!(technique["latency_p50_ns"].as_f64() <= technique["latency_p999_ns"].as_f64());
    let advice = results["asynchronous"].as_array().unwrap();
    assert_eq!(advice.len(), 6);
    assert_eq!(advice[0]["queue_depths"], serde_json::json!([1, 8, 64]));
    let reason = &results["left_out"][0]["reason"];
    assert!(
        reason.as_str().unwrap().contains("a stream or device"),
        "{reason}"
    );
}

#[test]
fn the_table_of_several_writers() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--target", "file,pipe,null", "--writers", "1,2,4"]);
    command.args(["--segments", "16", "--sizes", "64,1KiB"]);
    insta::assert_snapshot!(stdout_of(&mut command));
    let results = bench.only_result();
    let cell = &results["cells"][1];
    assert_eq!(cell["writers"], 2);
    let figures = &cell["techniques"][0]["writers"];
    assert_eq!(figures["writer_median_ns"].as_array().unwrap().len(), 2);
    assert_eq!((&figures["torn"], &figures["lost"]), (&0.into(), &0.into()));
    let advice = &results["writer_advice"][0];
    assert_eq!(advice["writer_counts"], serde_json::json!([1, 2, 4]));
    let reason = results["left_out"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("null has one writer"), "{reason}");
}

#[test]
fn the_markdown_of_asynchronous_reads() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--operation", "read", "--technique", "io-uring,readv"]);
    command.args(["--target", "file", "--queue-depth", "8"]);
    command.args([
        "--segments",
        "16",
        "--sizes",
        "64,16KiB",
        "--format",
        "markdown",
    ]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn cells_that_no_named_technique_suits_are_left_out_and_named() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args([
        "--technique",
        "mmap,send-more",
        "--segments",
        "16",
        "--sizes",
        "64",
    ]);
    let output = command.assert().success().get_output().clone();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let reason = "not measured (send-more is for sockets only, mmap is for files only): \
                  16 × 64 B on pipe";
    assert!(stderr.contains(reason), "{stderr}");
    assert!(!stderr.contains("--sizes, given both"), "{stderr}");
    let sentence = "note: mmap is for files only: it was not measured on unix\n";
    assert!(stderr.contains(sentence), "{stderr}");
    let results = bench.only_result();
    assert_eq!(results["left_out"][0]["target"], "pipe");
    let measured = |cell: usize| -> Vec<String> {
        let techniques = results["cells"][cell]["techniques"].as_array().unwrap();
        let names = techniques.iter().map(|t| t["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    assert_eq!(measured(0), ["mmap", "adaptive"]);
    assert_eq!(measured(1), ["send-more", "adaptive"]);
}

#[test]
fn the_help_of_measure() {
    let bench = Bench::new();
    let help = stdout_of(bench.vectored().args(["measure", "--help"]));
    // Trailing blanks are clap's.
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_same_seed_gives_the_same_output() {
    for format in ["table", "json", "csv", "markdown"] {
        let run = |seed: &str| {
            let bench = Bench::new();
            let mut command = bench.vectored();
            command.args(["measure", "--synthetic", MACHINE, "--target", "pipe"]);
            command.args(["--segments", "2", "--seed", seed, "--format", format]);
            stdout_of(&mut command)
        };
        assert_eq!(run("3"), run("3"), "{format}");
        assert_ne!(run("3"), run("4"), "{format}");
    }
}

#[test]
fn a_random_seed_is_shown() {
    let run = || {
        let bench = Bench::new();
        let mut command = bench.vectored();
        command.args(["measure", "--synthetic", MACHINE, "--target", "pipe"]);
        let table = stdout_of(&mut command);
        let seed = bench.only_result()["seed"].as_u64().unwrap();
        assert!(table.ends_with(&format!("\nSeed {seed}.\n")), "{table}");
        seed
    };
    assert_ne!(run(), run());
}
