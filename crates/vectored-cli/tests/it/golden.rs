//! Golden files of the output, made with the simulated machine.

use serde_json::json;

use crate::support::{Bench, stderr_of, stdout_of};

/// Each line: the name of a golden file, and the options of its run.
const SCREENS: &str = "\
the_table_of_the_usual_grid
the_markdown --target pipe --segments 2,16 --format markdown
the_table_of_reads --operation read --target file --target pipe --segments 2,16
the_screen_of_copies --operation copy
the_details_of_copies --details --operation copy --from file --target pipe,file --buffer-bytes 4KiB,64KiB --sizes 4KiB..256KiB --technique read-write,splice,copy-file-range
the_table_of_asynchronous_writes_past_the_page_cache --direct --target file-overwrite --segments 10 --sizes 100,512,4KiB --queue-depth 1,8,64 --technique io-uring,linux-aio
the_table_of_mixes --mix 9x16,1x4096 --mix 64KiB,1x16,2x100,1x8 --mix 3x100 --mix 3x100 --target pipe
the_table_of_a_swept_mix --mix 1x150,1x16..64KiB --mix 9x16,1x4KiB --target pipe
the_table_of_joined_messages --join 2,16 --target tcp
the_table_of_several_states --target pipe --segments 16 --sizes 64,4KiB --cache cold,hot --iovec-setup once --layout adjacent --layout scattered
the_markdown_of_techniques_that_must_be_named --technique writev,stdio,mmap --segments 16 --sizes 64 --cache cold --format markdown
the_table_of_asynchronous_techniques --details --segments 16 --sizes 64,16KiB --technique io-uring,linux-aio --target file,pipe,null --queue-depth 1,8,64
the_markdown_of_asynchronous_reads --operation read --technique io-uring,readv --target file --queue-depth 8 --segments 16 --sizes 64,16KiB --format markdown
the_table_of_every_target --target file,file-overwrite,tcp,null --segments 2,16 --sizes 16,4KiB
the_table_of_null_has_times --details --target /dev/null --segments 2,16 --sizes 16,4KiB
the_markdown_of_synced_files --target /dev,file-overwrite --sync fsync --segments 2 --format markdown";

#[test]
fn each_screen_is_as_it_was() {
    for line in SCREENS.lines() {
        let (name, words) = line.split_once(' ').unwrap_or((line, ""));
        let bench = Bench::new();
        let printed = stdout_of(bench.synthetic().args(words.split_whitespace()));
        insta::assert_snapshot!(name, printed);
        if name == "the_screen_of_copies" {
            assert_eq!(bench.only_result()["cost_models"], json!([]));
        }
    }
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
        // clap prints trailing blanks.
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(format!("the_help_of_{command}"), lines.join("\n"));
    }
}
