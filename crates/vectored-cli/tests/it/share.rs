//! Extracts of results: shown before they are written, and compared.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::page::{browser, flaws, resize};
use crate::support::{Bench, json, stdout_of};

/// A saved result of the invented machine under the name of a processor; the path.
fn result_of(bench: &Bench, name: &str, processor: &str, seed: &str) -> PathBuf {
    let path = bench.work().join(name);
    let mut command = bench.vectored();
    command.args(["measure", "--synthetic", crate::support::MACHINE, "--quiet"]);
    command.args(["--seed", seed, "--no-save", "--format", "json"]);
    let mut result = json(&stdout_of(&mut command));
    result["host"]["cpu"]["model"] = processor.into();
    result["host"]["name"] = "secret-host".into();
    result["host"]["system"] = "Linux x86_64".into();
    result["host"]["kernel"] = "6.18.44-secret #1".into();
    fs::write(&path, result.to_string()).unwrap();
    path
}

/// A folder `machines` with extracts of these processors.
fn folder_of(bench: &Bench, processors: &[&str]) -> PathBuf {
    let folder = bench.work().join("machines");
    fs::create_dir(&folder).unwrap();
    for (number, processor) in processors.iter().enumerate() {
        let result = result_of(bench, "result.json", processor, &number.to_string());
        let mut share = bench.vectored();
        share.arg("share").arg(result).args(["--yes", "--output"]);
        share.arg(folder.join(format!("{number}.json")));
        share.assert().success();
    }
    folder
}

#[test]
fn an_extract_is_shown_before_it_is_written() {
    let bench = Bench::new();
    result_of(&bench, "result.json", "AMD EPYC 9R14", "7");
    let shown = stdout_of(bench.vectored().args(["share", "result.json"]));
    assert!(
        shown.contains("\"processor\": \"AMD EPYC 9R14\"") && !shown.contains("secret"),
        "{shown}"
    );
    let words = ["share", "result.json", "--output", "extract.json"];
    // Nobody can answer.
    let refused = bench
        .vectored()
        .args(words)
        .assert()
        .code(2)
        .get_output()
        .clone();
    assert_eq!(String::from_utf8(refused.stdout).unwrap(), shown);
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(
        stderr.contains("no terminal") && stderr.contains("--yes"),
        "{stderr}"
    );
    let extract = bench.work().join("extract.json");
    assert!(!extract.exists());
    assert_eq!(stdout_of(bench.vectored().args(words).arg("--yes")), shown);
    assert_eq!(fs::read_to_string(&extract).unwrap(), shown);
    let over = ["share", "result.json", "--yes", "--output", "result.json"];
    let refused = bench
        .vectored()
        .args(over)
        .assert()
        .code(2)
        .get_output()
        .clone();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("also an input"));
    let of_extract = bench
        .vectored()
        .args(["report", "extract.json"])
        .assert()
        .code(1)
        .get_output()
        .clone();
    assert!(String::from_utf8_lossy(&of_extract.stderr).contains("compare --machines"));
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let bench = Bench::new();
    result_of(&bench, "result.json", "AMD EPYC 9R14", "7");
    for (answer, code, is_written) in [("n\n", 1, false), ("\n", 1, false), ("y\n", 0, true)] {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let mut options = fs::File::options();
        let end: OwnedFd = options
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap()
            .into();
        let mut command = bench.std_vectored();
        command.args(["share", "result.json", "--output", "extract.json"]);
        command
            .stdin(Stdio::from(end))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut shown = String::new();
        let mut stderr = child.stderr.take().unwrap();
        // The question comes after the extract, which a thread takes meanwhile.
        let mut stdout = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            stdout.read_to_string(&mut shown).unwrap();
            shown
        });
        let mut question = Vec::new();
        while !question.ends_with(b"[y/N] ") {
            let mut byte = [0];
            stderr.read_exact(&mut byte).unwrap();
            question.push(byte[0]);
        }
        let question = String::from_utf8(question).unwrap();
        assert!(question.contains("bytes to 'extract.json'?"), "{question}");
        assert!(!bench.work().join("extract.json").exists());
        fs::File::from(terminal.try_clone().unwrap())
            .write_all(answer.as_bytes())
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{answer:?}");
        let shown = reader.join().unwrap();
        assert!(
            shown.contains("\"schema\": \"vectored-machine/1\""),
            "{shown}"
        );
        let written = fs::read_to_string(bench.work().join("extract.json"));
        assert_eq!(written.ok(), is_written.then_some(shown), "{answer:?}");
    }
}

#[test]
fn a_folder_of_extracts_becomes_tables_and_a_page() {
    let bench = Bench::new();
    let intel = "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz";
    folder_of(&bench, &[intel, "AMD EPYC 9R14"]);
    let words = ["compare", "--machines", "machines", "--html", "fleet.html"];
    let table = stdout_of(bench.vectored().args(words).env("COLUMNS", "160"));
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.contains("6.18.44"))
        .collect();
    assert!(
        rows[0].starts_with("AMD EPYC 9R14") && rows[1].starts_with("Intel Xeon Platinum"),
        "{table}"
    );
    assert!(
        table.contains("crossovers, copying below and gathering above"),
        "{table}"
    );
    let page = fs::read_to_string(bench.work().join("fleet.html")).unwrap();
    assert!(page.contains("2 results of 2 processor types"));
    assert!(page.contains("<svg ") && !page.contains("<script"));
    // A result beside extracts is shown by its extract; each format has all machines.
    result_of(&bench, "third.json", "AMD EPYC 7763 64-Core Processor", "9");
    for format in ["table", "markdown", "csv", "json"] {
        let words = [
            "compare",
            "--machines",
            "machines",
            "third.json",
            "--format",
            format,
        ];
        let text = stdout_of(bench.vectored().args(words).env("COLUMNS", "400"));
        for processor in ["EPYC 9R14", "EPYC 7763 64-Core", "Xeon Platinum 8375C"] {
            assert!(text.contains(processor), "{format}: {text}");
        }
        assert!(!text.contains("secret"), "{format}: {text}");
    }
}

#[test]
fn what_a_result_beside_extracts_lacks_is_said() {
    let bench = Bench::new();
    folder_of(&bench, &["AMD EPYC 9R14"]);
    let path = bench.work().join("result.json");
    let mut result = json(&fs::read_to_string(&path).unwrap());
    let ranks = ["AMD EPYC 9R14", "Intel Xeon 8375C"].iter().enumerate();
    let rank = |(number, cpu)| {
        serde_json::json!({
            "rank": number, "host": "node", "kernel": "6.18", "cpu": cpu, "straggles": 0, "figures": 3,
        })
    };
    result["ranks"] = ranks.map(rank).collect();
    for cell in result["cells"].as_array_mut().unwrap().iter_mut().take(3) {
        cell["ranks"] = 2.into();
    }
    fs::write(&path, result.to_string()).unwrap();
    let said =
        "note: 'result.json': left out: 3 cells of ranks whose machines are of several types\n";
    let words = ["compare", "--machines", "machines", "result.json"];
    let compared = bench.vectored().args(words).assert().success();
    assert_eq!(String::from_utf8_lossy(&compared.get_output().stderr), said);
}

#[test]
fn wrong_folders_of_extracts_are_refused() {
    let bench = Bench::new();
    let refused = |args: &[&str], code: i32| {
        let output = bench
            .vectored()
            .args(args)
            .assert()
            .code(code)
            .get_output()
            .clone();
        assert!(output.stdout.is_empty(), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    fs::create_dir(bench.work().join("empty")).unwrap();
    let said = refused(&["compare", "--machines", "empty"], 2);
    assert!(
        said.contains("'empty' has no file *.json") && said.contains("vectored share"),
        "{said}"
    );
    let folder = folder_of(&bench, &["AMD EPYC 9R14"]);
    fs::write(
        folder.join("notes.json"),
        "{\"schema\": \"vectored-machine/1\"}",
    )
    .unwrap();
    let said = refused(&["compare", "--machines", "machines"], 1);
    assert!(
        said.contains("notes.json") && said.contains("damaged"),
        "{said}"
    );
    let measure = [
        "measure",
        "--synthetic",
        crate::support::MACHINE,
        "--machines",
    ];
    let said = refused(&[&measure[..], &["machines"]].concat(), 1);
    assert!(said.contains("notes.json"), "{said}");
    let said = refused(&[&measure[..], &["nowhere"]].concat(), 1);
    assert!(said.contains("'nowhere'"), "{said}");
    fs::remove_file(folder.join("notes.json")).unwrap();
    let inside = [
        "compare",
        "--machines",
        "machines",
        "--output",
        "machines/0.json",
    ];
    assert!(refused(&inside, 2).contains("would be overwritten"));
}

#[test]
fn a_run_stands_beside_known_ones_in_every_format() {
    let bench = Bench::new();
    let path = result_of(&bench, "result.json", "AMD EPYC 9R14", "7");
    let mut result = json(&fs::read_to_string(&path).unwrap());
    let mut one = result["crossovers"][0].clone();
    for (field, value) in [
        ("same_processor", serde_json::json!({"results": 0, "crossovers": 0, "low_bytes": null, "high_bytes": null})),
        ("other_processors", serde_json::json!({"results": 3, "crossovers": 3, "low_bytes": 1400.0, "high_bytes": 3100.0})),
        ("text", "pipe, 16 segments: copy below 1 KiB here; below 1.37 to 3.03 KiB in 3 results of other types.".into()),
    ] {
        one[field] = value;
    }
    result["machine_comparisons"] = serde_json::json!([one]);
    fs::write(&path, result.to_string()).unwrap();
    let words = "Known results: pipe, 16 segments: copy below 1 KiB here; below 1.37 to 3.03 KiB in 3 results of other types.";
    let table = stdout_of(
        bench
            .vectored()
            .args(["report", "result.json"])
            .env("COLUMNS", "200"),
    );
    assert!(table.contains(words), "{table}");
    let markdown = stdout_of(
        bench
            .vectored()
            .args(["report", "result.json", "--markdown", "-"]),
    );
    let page = stdout_of(
        bench
            .vectored()
            .args(["report", "result.json", "--html", "-"]),
    );
    let text = words.strip_prefix("Known results: ").unwrap();
    assert!(markdown.contains(text) && page.contains(text), "{markdown}");
}

#[test]
fn a_page_of_extracts_fits_its_window() {
    let Some(mut browser) = browser("a_page_of_extracts_fits_its_window") else {
        return;
    };
    let bench = Bench::new();
    folder_of(
        &bench,
        &[
            "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
            "AMD EPYC 9R14",
            "unknown",
        ],
    );
    let words = ["compare", "--machines", "machines", "--html", "fleet.html"];
    bench.vectored().args(words).assert().success();
    for width in [390, 1280] {
        resize(&mut browser, width);
        browser.open(&bench.work().join("fleet.html"));
        assert_eq!(flaws(&mut browser), serde_json::json!([]), "at {width}");
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}
