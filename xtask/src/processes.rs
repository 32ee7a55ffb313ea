//! The processes of this system, by their parents.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::process::{Command, Stdio};

/// A process that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The process that started it, or has taken it over.
    parent: u32,
}

/// The processes that descend from `ancestor`, and itself, by their numbers. Empty where there is no `/proc`.
pub fn descendants(ancestor: u32) -> io::Result<Vec<Process>> {
    let mut parents = HashMap::new();
    let listed = match fs::read_dir("/proc") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    for entry in listed {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // One that has ended meanwhile has none.
        if let Some(parent) = parent(pid) {
            parents.insert(pid, parent);
        }
    }
    let descends = |mut pid: u32| {
        // No cycles, even if a number was given to another process while they were listed.
        for _ in 0..parents.len() {
            if pid == ancestor {
                return true;
            }
            match parents.get(&pid) {
                Some(parent) => pid = *parent,
                None => return false,
            }
        }
        false
    };
    let mut found: Vec<Process> = parents
        .iter()
        .filter(|(pid, _)| descends(**pid))
        .map(|(&pid, &parent)| Process { pid, parent })
        .collect();
    found.sort_unstable_by_key(|process| process.pid);
    Ok(found)
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
}

impl Process {
    /// Its command line, without the ends of its words.
    pub fn command_line(&self) -> String {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.trim_end().to_owned()
    }

    /// Its state, in the letters of proc(5), and its processor time in seconds; empty if it has ended.
    pub fn state(&self) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let Some((_, fields)) = stat.rsplit_once(") ") else {
            return String::new();
        };
        let fields: Vec<&str> = fields.split(' ').collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let ticks = ticks(11).unwrap_or(0) + ticks(12).unwrap_or(0);
        // In ticks of 10 ms on every system that Linux runs on (USER_HZ).
        format!("{} {} s", fields[0], ticks / 100)
    }
}

/// Kills a process and its descendants. The error is that of listing them; one that has ended already is none.
pub fn kill_with_descendants(pid: u32) -> io::Result<()> {
    // Until the list no longer grows: stopped, they start no others.
    let mut found = Vec::new();
    loop {
        let all = descendants(pid)?;
        if all == found {
            return signal("-KILL", pid, &all);
        }
        signal("-STOP", pid, &all)?;
        found = all;
    }
}

fn signal(name: &str, pid: u32, others: &[Process]) -> io::Result<()> {
    let mut command = Command::new("kill");
    command.arg(name).arg(pid.to_string());
    for process in others.iter().filter(|process| process.pid != pid) {
        command.arg(process.pid.to_string());
    }
    command.stderr(Stdio::null()).status().map(drop)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader, Read as _};

    #[test]
    fn the_descendants_of_a_process_are_found_and_killed() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 100000 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(shell.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let sleep: u32 = line.trim().parse().unwrap();
        let of_shell = descendants(shell.id()).unwrap();
        assert!(of_shell.iter().any(|process| process.pid == shell.id()));
        let of_sleep = descendants(sleep).unwrap();
        assert!(of_shell.contains(&of_sleep[0]), "{of_shell:?}");
        assert_eq!((of_sleep[0].pid, of_sleep[0].parent), (sleep, shell.id()));
        // The shell prints the number before its child has become another program.
        while of_sleep[0].command_line() != "sleep 100000" {
            std::thread::yield_now();
        }
        kill_with_descendants(shell.id()).unwrap();
        assert!(!shell.wait().unwrap().success());
        // The end of its output: both have ended.
        assert_eq!(stdout.read_to_end(&mut Vec::new()).unwrap(), 0);
    }
}
