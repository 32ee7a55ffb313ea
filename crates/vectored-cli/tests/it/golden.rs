//! Golden files of the output, from the simulated machine.

use serde_json::json;

use crate::support::{Bench, MACHINE, stderr_of, stdout_of};

#[test]
fn the_table_of_the_usual_grid() {
    insta::assert_snapshot!(stdout_of(&mut Bench::new().synthetic()));
}

#[test]
fn the_markdown() {
    let words = "--target pipe --segments 2,16 --format markdown";
    insta::assert_snapshot!(stdout_of(&mut Bench::new().synthetic_with(words)));
}

#[test]
fn the_table_of_reads() {
    let bench = Bench::new();
    let words = "--operation read --target file --target pipe --segments 2,16";
    insta::assert_snapshot!(stdout_of(&mut bench.synthetic_with(words)));
}

#[test]
fn the_screen_of_copies() {
    let bench = Bench::new();
    insta::assert_snapshot!(stdout_of(&mut bench.synthetic_with("--operation copy")));
    assert_eq!(bench.only_result()["cost_models"], json!([]));
}

#[test]
fn the_details_of_copies() {
    let bench = Bench::new();
    let mut command =
        bench.synthetic_with("--details --operation copy --from file --target pipe,file");
    command.args(["--buffer-bytes", "4KiB,64KiB", "--sizes", "4KiB..256KiB"]);
    command.args(["--technique", "read-write,splice,copy-file-range"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_table_of_asynchronous_writes_past_the_page_cache() {
    let bench = Bench::new();
    let mut command = bench.synthetic_with("--direct --target file-overwrite --segments 10");
    command.args(["--sizes", "100,512,4KiB", "--queue-depth", "1,8,64"]);
    command.args(["--technique", "io-uring,linux-aio"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_table_of_mixes() {
    let bench = Bench::new();
    let words = "--mix 9x16,1x4096 --mix 64KiB,1x16,2x100,1x8 --mix 3x100 --target pipe";
    insta::assert_snapshot!(stdout_of(&mut bench.synthetic_with(words)));
}

#[test]
fn the_table_of_several_states() {
    let bench = Bench::new();
    let mut command = bench.synthetic_with("--target pipe --segments 16 --sizes 64,4KiB");
    command.args(["--cache", "cold,hot", "--iovec-setup", "once"]);
    command.args(["--layout", "adjacent", "--layout", "scattered"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_markdown_of_techniques_that_must_be_named() {
    let bench = Bench::new();
    let mut command = bench.synthetic_with("--technique writev,stdio,mmap");
    command.args(["--segments", "16", "--sizes", "64", "--cache", "cold"]);
    insta::assert_snapshot!(stdout_of(command.args(["--format", "markdown"])));
}

#[test]
fn the_table_of_asynchronous_techniques() {
    let bench = Bench::new();
    let mut command = bench.synthetic_with("--details --segments 16 --sizes 64,16KiB");
    command.args(["--technique", "io-uring,linux-aio"]);
    command.args(["--target", "file,pipe,null", "--queue-depth", "1,8,64"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_table_of_several_writers() {
    let bench = Bench::new();
    let mut command = bench.synthetic_with("--details --target file,pipe,null --writers 1,2,4");
    insta::assert_snapshot!(stdout_of(command.args([
        "--segments",
        "16",
        "--sizes",
        "64,1KiB"
    ])));
}

#[test]
fn the_markdown_of_asynchronous_reads() {
    let bench = Bench::new();
    let mut command = bench.synthetic_with("--operation read --technique io-uring,readv");
    command.args(["--target", "file", "--queue-depth", "8", "--segments", "16"]);
    command.args(["--sizes", "64,16KiB", "--format", "markdown"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn cells_that_no_named_technique_suits_are_left_out_and_named() {
    let bench = Bench::new();
    let words = "--technique mmap --segments 16 --sizes 64";
    let stderr = stderr_of(&mut bench.synthetic_with(words), 0);
    let reason = "not measured (mmap is for files only: use --target file or file-overwrite, or another \
                  --technique): 16 × 64 B on pipe";
    assert!(stderr.contains(reason), "{stderr}");
    assert!(!stderr.contains("--sizes, given both"), "{stderr}");
    let results = bench.only_result();
    assert_eq!(results["left_out"][0]["target"], "pipe");
    let techniques = results["cells"][0]["techniques"].as_array().unwrap();
    let names: Vec<_> = techniques.iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["mmap", "adaptive"]);
}

#[test]
fn the_help_of_each_command() {
    for command in ["measure", "reproduce", "copy", "host"] {
        let help = stdout_of(&mut Bench::new().command(&format!("{command} --help")));
        // Trailing blanks are clap's.
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(format!("the_help_of_{command}"), lines.join("\n"));
    }
}

#[test]
fn a_random_seed_is_shown() {
    let run = || {
        let bench = Bench::new();
        let mut command = bench.command("measure --details --target pipe --synthetic");
        let table = stdout_of(command.arg(MACHINE));
        let seed = bench.only_result()["seed"].as_u64().unwrap();
        assert!(table.contains(&format!("\nSeed {seed}.\n")), "{table}");
        seed
    };
    assert_ne!(run(), run());
}
