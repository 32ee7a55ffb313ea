//! Completions in real shells, and manual pages in a real man(1).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Bench, entries, skip, stdout_of};

/// Saves the script of a shell in the directory of a test.
fn script(bench: &Bench, shell: &str) -> String {
    let text = stdout_of(bench.vectored().args(["completions", shell]));
    let path = bench.work().join(format!("script.{shell}"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What a shell prints that runs `program`, or `None` without that shell.
fn run(
    test: &str,
    bench: &Bench,
    shell: &str,
    arguments: &[&str],
    program: &str,
) -> Option<String> {
    let mut command = Command::new(shell);
    command
        .args(arguments)
        .args(["-c", program])
        .current_dir(bench.work())
        .env("HOME", bench.work())
        .env("TERM", "xterm")
        .stdin(Stdio::null());
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            skip(test, &format!("{shell}: {error}"));
            return None;
        }
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shell}: {stderr}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The lines of a shell's answer, sorted; of lists the last word.
fn words(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.is_empty());
    let mut words: Vec<&str> = lines.filter_map(|line| line.rsplit(',').next()).collect();
    words.sort_unstable();
    words
}

/// What is typed, and what the shell must offer for its last word.
const CASES: [(&str, &[&str]); 10] = [
    ("vectored me", &["measure"]),
    ("vectored co", &["compare", "completions", "copy"]),
    ("vectored measure --page-c", &["--page-cache"]),
    ("vectored measure --page-cache ", &["cold", "hot"]),
    ("vectored measure --target fi", &["file", "file-overwrite"]),
    ("vectored measure --target file,un", &["unix"]),
    (
        "vectored measure --technique writev,copy-t",
        &["copy-then-write"],
    ),
    ("vectored reproduce apue-3.5 --to p", &["pipe"]),
    ("vectored host --format m", &["markdown"]),
    (
        "vectored reproduce mincer --iovec-setup ",
        &["once", "timed"],
    ),
];

#[test]
fn bash_completes() {
    let bench = Bench::new();
    let script = script(&bench, "bash");
    for (line, expected) in CASES {
        // As readline calls it: with the words of the line, and the index of the word at the cursor.
        let ask = format!(
            "source '{script}'; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}
             read -ra COMP_WORDS <<< \"$COMP_LINE\"
             [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
             spec=$(complete -p vectored); function=${{spec#*-F }}; function=${{function%% *}}
             \"$function\" vectored \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let Some(offered) = run("bash_completes", &bench, "bash", &["--norc"], &ask) else {
            return;
        };
        assert_eq!(words(&offered), expected, "{line}");
    }
}

#[test]
fn fish_completes() {
    let bench = Bench::new();
    let script = script(&bench, "fish");
    for (line, expected) in CASES {
        let ask = format!("source '{script}'; complete --do-complete '{line}'");
        let Some(offered) = run("fish_completes", &bench, "fish", &["--no-config"], &ask) else {
            return;
        };
        // A word, a tab and its description.
        let names = offered.lines().map(|line| line.split('\t').next().unwrap());
        let names: Vec<&str> = names.collect();
        assert_eq!(words(&names.join("\n")), expected, "{line}");
    }
}

/// Of a zsh that completes one word: it writes what is offered to a file, and ends.
const ZSHRC: &str = r#"
PS1=
fpath=($ZDOTDIR $fpath)
autoload -U compinit
compinit -u -D
compadd() {
    # With these options it only fills arrays.
    if [[ -z ${(M)@:#-[OAD]*} ]]; then
        local -a found
        builtin compadd -O found "$@"
        (( $#found )) && print -rl -- $found >> $ZDOTDIR/offered
    fi
    builtin compadd "$@"
}
finish() { : > $ZDOTDIR/finished; exit }
comppostfuncs=(finish)
"#;

/// zsh completes only in its line editor: one on a pseudo terminal gets the line and a tab.
const ASK_ZSH: &str = r#"
zmodload zsh/zpty
zpty shell zsh -i
zpty -w -n shell "$TYPED"$'\t'
for (( turn = 0; turn < 1000; turn++ )); do
    [[ -e $ZDOTDIR/finished ]] && break
    # What the terminal shows is thrown away, so that the shell does not wait for a reader.
    zpty -rt shell shown
    sleep 0.05
done
[[ -e $ZDOTDIR/finished ]] && cat $ZDOTDIR/offered
"#;

#[test]
fn zsh_completes() {
    let bench = Bench::new();
    fs::rename(script(&bench, "zsh"), bench.work().join("_vectored")).unwrap();
    fs::write(bench.work().join(".zshrc"), ZSHRC).unwrap();
    for (line, expected) in CASES {
        let ask = format!("export ZDOTDIR=$PWD TYPED='{line}'\n{ASK_ZSH}");
        let Some(offered) = run("zsh_completes", &bench, "zsh", &["-f"], &ask) else {
            return;
        };
        assert_eq!(words(&offered), expected, "{line}");
        for file in ["offered", "finished"] {
            fs::remove_file(bench.work().join(file)).unwrap();
        }
    }
}

#[test]
fn man_reads_all_pages_without_a_warning() {
    let bench = Bench::new();
    let directory = bench.work().join("new/man1");
    let path = directory.to_str().unwrap();
    // Twice: pages are replaced.
    for _ in 0..2 {
        let printed = stdout_of(bench.vectored().args(["man", "--dir", path]));
        assert_eq!(printed, "");
    }
    let files = entries(&directory);
    let help = stdout_of(bench.vectored().arg("--help"));
    let (_, commands) = help.split_once("Commands:").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    // A long description goes on in the next line, further to the right.
    let is_command = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let listed = stdout_of(bench.vectored().arg("reproduce"));
    let experiments = listed.split("\n\n").next().unwrap().lines().count();
    // `help` has no page, and the program has one.
    let commands = commands.lines().filter(is_command).count();
    assert_eq!(files.len(), commands + experiments);
    for file in &files {
        let Some(text) = man(file) else { return };
        assert!(text.contains("SYNOPSIS"), "{file:?}: {text}");
    }
    let page = man(&directory.join("vectored-measure.1")).unwrap();
    assert!(page.contains("--queue-depth <LIST>"), "{page}");
}

/// The page as man(1) shows it. Warnings of groff fail the test.
fn man(file: &Path) -> Option<String> {
    let mut command = Command::new("man");
    command.args(["--warnings=all", "-l"]).arg(file);
    command.env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8");
    match command.output() {
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{stderr}");
            assert_eq!(stderr, "", "{file:?}");
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(error) => {
            skip(
                "man_reads_all_pages_without_a_warning",
                &format!("man: {error}"),
            );
            None
        }
    }
}

#[test]
fn man_without_a_terminal_prints_roff() {
    let bench = Bench::new();
    let page = stdout_of(&mut bench.command("man measure"));
    assert!(page.starts_with(".TH \"VECTORED-MEASURE\""), "{page}");
    assert_eq!(page, stdout_of(&mut bench.command("man vectored-measure")));
}
