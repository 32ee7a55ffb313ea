//! The tool as a user of Windows meets it: `vectored.exe` in a new Wine prefix.
//!
//! Nothing here looks at a time: Wine's are those of an emulation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{TARGET, cargo_for_wine, make_prefix};
use crate::commands::run as run_command;
use crate::root;
use crate::systems::{FOLDER, PROFILE};

/// Time within which a measurement has begun, or ended after Ctrl-C, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the tool and compares what it did.
type Check = fn(&Tool) -> Result<()>;

/// Builds `vectored.exe` and runs it in a new prefix.
pub fn run(folder: &Path) -> Result<()> {
    let mut build = cargo_for_wine(folder);
    build.args(["build", "--locked", "--package=vectored-cli", "--target"]);
    run_command(build.arg(TARGET).args(PROFILE))?;
    let tool = Tool::new(folder)?;
    let checks: [(&str, Check); 8] = [
        ("--version, man, completions", texts),
        ("host", host),
        ("measure file, pipe, tcp", measure),
        ("measure with write-file-gather", pages),
        ("reproduce mincer", mincer),
        ("report, history, compare", saved_results),
        ("what Windows lacks", refusals),
        ("Ctrl-C", interrupt),
    ];
    for (name, check) in checks {
        println!("   vectored.exe: {name}");
        check(&tool).with_context(|| format!("vectored.exe: {name}"))?;
    }
    Ok(())
}

/// The program and its prefix.
struct Tool {
    program: PathBuf,
    /// The folder whose `prefix` is the one of the program.
    folder: PathBuf,
}

impl Tool {
    /// Makes a new prefix, in place of an earlier one.
    fn new(folder: &Path) -> Result<Tool> {
        let own = folder.join("tool");
        if own.exists() {
            fs::remove_dir_all(&own)?;
        }
        fs::create_dir_all(&own)?;
        let dll = "bcryptprimitives.dll";
        fs::copy(folder.join(dll), own.join(dll))?;
        make_prefix(&own)?;
        Ok(Tool {
            program: root().join(FOLDER).join(TARGET).join("debug/vectored.exe"),
            folder: own,
        })
    }

    /// The program under Wine. Its current directory is on drive C.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(root().join("xtask/src/wine/run.sh"));
        command
            .arg(&self.program)
            .args(words)
            .current_dir(self.folder.join("prefix/drive_c"))
            .env("VECTORED_WINE", &self.folder)
            .env_remove("XDG_STATE_HOME")
            .env_remove("HOME")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program, whose standard streams are no terminals. Neither may have an escape code or a carriage return.
    fn output(&self, words: &[&str]) -> Result<(Output, String, String)> {
        let output = self.command(words).output().context("cannot start wine")?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec());
        let (out, errors) = (text(&output.stdout)?, text(&output.stderr)?);
        for (name, text) in [("output", &out), ("error", &errors)] {
            for (what, code) in [("an escape code", '\x1b'), ("a carriage return", '\r')] {
                let line = text.lines().find(|line| line.contains(code));
                ensure!(
                    !text.contains(code),
                    "{words:?}: standard {name} has {what}: {line:?}"
                );
            }
        }
        Ok((output, out, errors))
    }

    /// The output of a run that succeeds.
    fn run(&self, words: &[&str]) -> Result<(String, String)> {
        let (output, out, errors) = self.output(words)?;
        ensure!(
            output.status.success(),
            "{words:?}: {}\n{out}{errors}",
            output.status
        );
        Ok((out, errors))
    }

    /// A path of this system as programs under Wine name it.
    fn on_drive_c(&self, path: &Path) -> Result<String> {
        let inside = path.strip_prefix(self.folder.join("prefix/drive_c"))?;
        Ok(format!(r"C:\{}", inside.display()).replace('/', r"\"))
    }

    /// The directory of saved results: that of `%LOCALAPPDATA%`.
    fn saved(&self) -> Result<Vec<PathBuf>> {
        let users = self.folder.join("prefix/drive_c/users");
        let mut found = Vec::new();
        for user in fs::read_dir(users)? {
            let results = user?.path().join("AppData/Local/vectored");
            if results.is_dir() {
                for file in fs::read_dir(results)? {
                    found.push(file?.path());
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Runs a command that saves a result, and returns that result, which is JSON without carriage returns.
    fn saving(&self, words: &[&str]) -> Result<Value> {
        let before = self.saved()?;
        let (_, errors) = self.run(words)?;
        let last = errors.lines().last().unwrap_or_default();
        ensure!(
            last.contains(r":\users\") && last.contains(r"\AppData\Local\vectored\"),
            "{words:?}: the last line names no file in %LOCALAPPDATA%: '{last}'"
        );
        self.only_new(&before)
    }

    /// The result of `measure` with `line` and a budget in which this many cells get figures: 4 s if the machine is fast.
    fn measured(&self, line: &str, cells: usize) -> Result<Value> {
        let mut result = Value::Null;
        for budget in ["4s", "16s", "64s", "256s"] {
            let mut words = vec!["measure", "--budget", budget];
            words.extend(line.split(' '));
            result = self.saving(&words)?;
            let measured = result["cells"].as_array().map_or(0, Vec::len);
            if measured >= cells {
                break;
            }
        }
        check_proofs(&result, cells)?;
        Ok(result)
    }

    fn only_new(&self, before: &[PathBuf]) -> Result<Value> {
        let mut new = self.saved()?;
        new.retain(|file| !before.contains(file));
        let [file] = new.as_slice() else {
            bail!("expected one new file in %LOCALAPPDATA%, found {new:?}");
        };
        let text = fs::read_to_string(file)?;
        ensure!(!text.contains('\r'), "{file:?} has a carriage return");
        serde_json::from_str(&text).with_context(|| format!("{file:?} is not JSON"))
    }
}

/// Whether the warnings of a host say that times are those of Wine.
fn check_warning(host: &Value) -> Result<()> {
    let warnings = host["warnings"].as_array();
    let mut warnings = warnings.context("no warnings")?.iter();
    let is_wine = |text: &Value| {
        let text = text.as_str().unwrap_or_default();
        text.starts_with("Wine ") && text.ends_with(": times are those of an emulation")
    };
    ensure!(warnings.any(is_wine), "no warning of Wine: {host}");
    Ok(())
}

/// Whether all cells of a result have bytes that were compared.
fn check_proofs(result: &Value, cells: usize) -> Result<()> {
    let all = result["cells"].as_array().context("no cells")?;
    ensure!(all.len() >= cells, "{} of {cells} cells", all.len());
    for cell in all {
        ensure!(
            cell["proof_calls"].as_u64() > Some(0),
            "no bytes were compared: {cell}"
        );
        ensure!(cell["floor_ns"].as_f64() > Some(0.0), "no floor: {cell}");
    }
    Ok(())
}

/// The names of the techniques of a cell.
fn techniques(cell: &Value) -> Vec<&str> {
    let all = cell["techniques"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter_map(|one| one["name"].as_str()).collect()
}

fn texts(tool: &Tool) -> Result<()> {
    let (version, _) = tool.run(&["--version"])?;
    ensure!(version.starts_with("vectored "), "{version}");
    let (page, _) = tool.run(&["man", "measure"])?;
    ensure!(page.contains(".TH"), "no page: {page}");
    let (script, _) = tool.run(&["completions", "powershell"])?;
    ensure!(script.contains("vectored"), "no script: {script}");
    Ok(())
}

fn host(tool: &Tool) -> Result<()> {
    let (text, _) = tool.run(&["host", "--format", "json", "--dir", r"C:\"])?;
    let report: Value = serde_json::from_str(&text).context("no JSON")?;
    check_warning(&report["host"])?;
    let directory = &report["host"]["directory"];
    ensure!(
        directory["path"].as_str() == Some(r"C:\"),
        "another directory: {directory}"
    );
    let system = report["host"]["system"].as_str().unwrap_or_default();
    ensure!(system.starts_with("Windows "), "system '{system}'");
    let (table, _) = tool.run(&["host"])?;
    ensure!(table.contains("Wine "), "no Wine in the table: {table}");
    Ok(())
}

fn measure(tool: &Tool) -> Result<()> {
    let line =
        r"--target file,pipe,tcp,C:\users --segments 4 --sizes 64,4KiB --dir C:\windows\temp";
    let result = tool.measured(line, 8)?;
    check_warning(&result["host"])?;
    for cell in result["cells"].as_array().context("no cells")? {
        let has_list_call = techniques(cell).contains(&"writev");
        ensure!(
            has_list_call == (cell["target"] == "tcp"),
            "writev is WSASend, of sockets alone: {cell}"
        );
    }
    let left = fs::read_dir(tool.folder.join("prefix/drive_c/windows/temp"))?;
    for entry in left {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        ensure!(!name.starts_with(".vectored"), "left behind: {name}");
    }
    tool.measured(
        "--operation read --target file,pipe,tcp --segments 4 --sizes 64",
        3,
    )?;
    Ok(())
}

fn pages(tool: &Tool) -> Result<()> {
    let line = "--target file --technique write-file-gather --segments 4,16 --sizes 100,4KiB,8KiB --queue-depth 1,4";
    let result = tool.measured(line, 8)?;
    for cell in result["cells"].as_array().context("no cells")? {
        ensure!(
            techniques(cell).contains(&"write-file-gather"),
            "no write-file-gather: {cell}"
        );
    }
    let left_out = &result["left_out"];
    let reason = left_out[0]["reason"].as_str().unwrap_or_default();
    ensure!(
        reason.contains("whole pages"),
        "100 B must be left out: {left_out}"
    );
    Ok(())
}

fn mincer(tool: &Tool) -> Result<()> {
    let words = "reproduce mincer --size 8192 --count 4 --repeats 2";
    let result = tool.saving(&words.split(' ').collect::<Vec<_>>())?;
    check_warning(&result["host"])?;
    let rows = result["experiments"][0]["rows"].as_array();
    let rows = rows.context("no rows")?;
    for name in [
        "write-each",
        "read-each",
        "write-file-gather",
        "read-file-scatter",
    ] {
        let mut of_name = rows.iter().filter(|row| row["technique"] == name);
        let row = of_name
            .next()
            .with_context(|| format!("no row of {name}"))?;
        ensure!(row["clock_s"].as_f64() > Some(0.0), "no time: {row}");
    }
    let missing = result["experiments"][0]["missing"].to_string();
    for what in ["writev", "io-uring"] {
        ensure!(missing.contains(what), "{what} is not missed: {missing}");
    }
    Ok(())
}

fn saved_results(tool: &Tool) -> Result<()> {
    let (table, _) = tool.run(&["report", "measure"])?;
    ensure!(table.contains("floor"), "no table: {table}");
    let files = ["html", "markdown", "csv"].map(|kind| {
        let option = format!("--{kind}");
        (option, format!(r"C:\users\report.{kind}"))
    });
    let mut words = vec!["report", "measure"];
    for (option, file) in &files {
        words.extend([option.as_str(), file.as_str()]);
    }
    tool.run(&words)?;
    for kind in ["html", "markdown", "csv"] {
        let name = format!("prefix/drive_c/users/report.{kind}");
        let text = fs::read_to_string(tool.folder.join(name))?;
        ensure!(
            // The newest measurement is that of `pages`.
            text.contains("write-file-gather"),
            "no technique in the {kind}: {text}"
        );
        ensure!(!text.contains('\r'), "a carriage return in the {kind}");
    }
    let (list, _) = tool.run(&["history"])?;
    ensure!(list.contains("measure"), "no results in {list}");
    let measured: Vec<PathBuf> = tool
        .saved()?
        .into_iter()
        .filter(|path| is_measure(path))
        .collect();
    let (first, last) = (measured.first(), measured.last());
    let (Some(first), Some(last)) = (first, last) else {
        bail!("no saved measurements");
    };
    let (first, last) = (tool.on_drive_c(first)?, tool.on_drive_c(last)?);
    tool.run(&["compare", &first, "--against", &last])?;
    Ok(())
}

fn is_measure(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("measure-")
}

fn refusals(tool: &Tool) -> Result<()> {
    for (line, names) in [
        ("measure --technique mmap", "mmap"),
        ("measure --technique io-uring", "io_uring"),
        (
            "measure --target unix --segments 2 --sizes 64",
            "Unix sockets",
        ),
        ("reproduce apue-3.5", "wait4(2)"),
        ("reproduce kalinin", "writev(2)"),
        ("advise log.txt", "Linux"),
        ("measure --target tcp://127.0.0.1:7007", "--target tcp"),
    ] {
        let (output, _, errors) = tool.output(&line.split(' ').collect::<Vec<_>>())?;
        ensure!(!output.status.success(), "'{line}' succeeds");
        ensure!(
            errors.starts_with("error: ") && errors.contains(names),
            "'{line}' does not name {names}: {errors}"
        );
    }
    Ok(())
}

/// The first Ctrl-C ends a measurement, and what was measured is saved. Wine makes a Ctrl-C of SIGINT.
fn interrupt(tool: &Tool) -> Result<()> {
    let place = "prefix/drive_c/users/measured";
    fs::create_dir_all(tool.folder.join(place))?;
    let before = tool.saved()?;
    let line =
        r"measure --target file --segments 2,4,8 --sizes 64 --budget 1h --dir C:\users\measured";
    let mut child = tool
        .command(&line.split(' ').collect::<Vec<_>>())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let began = Instant::now();
    // The handler is there before any file.
    while fs::read_dir(tool.folder.join(place))?.next().is_none() {
        ensure!(began.elapsed() < PATIENCE, "no measurement began");
        if let Some(status) = child.try_wait()? {
            bail!("it ended before Ctrl-C: {status}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // A cell that has rounds is saved.
    std::thread::sleep(Duration::from_secs(5));
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()?;
    ensure!(status.success(), "cannot send SIGINT");
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() > PATIENCE {
            child.kill()?;
            bail!("Ctrl-C did not end it");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = child.wait_with_output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(130),
        "{}: {errors}",
        output.status
    );
    if errors.contains("stopped before any cell") {
        // On a machine that is very slow.
        Ok(())
    } else {
        check_proofs(&tool.only_new(&before)?, 1)
    }
}
