//! Named steps, timed, that stop at the first failure.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::root;

/// A step that failed: what it was, and how to repeat it.
#[derive(Debug)]
pub struct Failed;

/// The steps of one run.
pub struct Steps {
    began: Instant,
    done: Vec<(String, Duration)>,
}

impl Steps {
    /// Starts the clock.
    pub fn start() -> Self {
        Steps {
            began: Instant::now(),
            done: Vec::new(),
        }
    }

    /// Runs a program whose output is shown.
    pub fn command(&mut self, name: &str, command: &mut Command) -> Result<(), Failed> {
        self.step(name, |name| run_shown(name, command))
    }

    /// Runs a program whose output is thrown away; its complaints are shown.
    pub fn quiet_command(&mut self, name: &str, command: &mut Command) -> Result<(), Failed> {
        self.command(name, command.stdout(Stdio::null()))
    }

    /// Does something that tells itself what went wrong.
    pub fn step(
        &mut self,
        name: &str,
        work: impl FnOnce(&str) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        println!("── {name}");
        let began = Instant::now();
        let outcome = work(name);
        let took = began.elapsed();
        let verb = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("   {name}: {verb}, {}\n", seconds(took));
        self.done.push((name.to_owned(), took));
        outcome
    }

    /// One line a step, and the total.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (name, took) in &self.done {
            let _ = writeln!(text, "{:>8}  {name}", seconds(*took));
        }
        let _ = write!(text, "{:>8}  in total", seconds(self.began.elapsed()));
        text
    }
}

/// `command` as a line that a shell repeats.
pub fn shell_line(command: &Command) -> String {
    let mut line = format!("cd {}", quoted(&root().to_string_lossy()));
    line.push_str(" &&");
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            let value = quoted(&value.to_string_lossy());
            let _ = write!(line, " {}={value}", name.to_string_lossy());
        }
    }
    let program = Path::new(command.get_program());
    // Cargo names itself by the path of its toolchain; `cargo` is shorter.
    let is_cargo = program.file_name().is_some_and(|name| name == "cargo");
    let program = if is_cargo {
        "cargo".as_ref()
    } else {
        command.get_program()
    };
    for word in std::iter::once(program).chain(command.get_args()) {
        let _ = write!(line, " {}", quoted(&word.to_string_lossy()));
    }
    line
}

fn run_shown(name: &str, command: &mut Command) -> Result<(), Failed> {
    command.current_dir(root());
    let what = match command.status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => format!("it ended with {status}"),
        Err(error) => format!("it could not be started: {error}"),
    };
    println!("   {name} failed: {what}");
    println!("   repeat it with: {}", shell_line(command));
    Err(Failed)
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_repeated_from_its_line() {
        let mut command = Command::new("/toolchain/bin/cargo");
        command.env("RUSTDOCFLAGS", "-D warnings");
        command.args(["doc", "it's"]);
        let line = shell_line(&command);
        let expected = r"&& RUSTDOCFLAGS='-D warnings' cargo doc 'it'\''s'";
        assert!(line.ends_with(expected), "{line}");
    }

    #[test]
    fn a_failing_program_fails_its_step_and_both_are_counted() {
        let mut steps = Steps::start();
        assert!(steps.command("good", &mut Command::new("true")).is_ok());
        assert!(steps.command("bad", &mut Command::new("false")).is_err());
        let missing = &mut Command::new("no-such-program-anywhere");
        assert!(steps.command("missing", missing).is_err());
        assert_eq!(steps.summary().lines().count(), 4);
    }
}
