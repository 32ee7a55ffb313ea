//! `vectored completions`.

use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::{Shell, generate};
use vectored_measure::measure::TECHNIQUES;
use vectored_results::model::Target;

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;
use crate::terminal::print;

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let shell = Shell::from(args.shell);
    let mut command = with_words(Cli::command());
    let mut script = Vec::new();
    generate(shell, &mut command, "vectored", &mut script);
    let script = String::from_utf8_lossy(&script);
    print(&with_lists(script.into_owned(), shell, &command))?;
    Ok(ExitCode::SUCCESS)
}

/// The words of an option that takes others, too.
fn words_of(option: &str) -> Vec<&'static str> {
    match option {
        "target" => Target::NAMED.map(Target::name).to_vec(),
        "technique" => TECHNIQUES.iter().map(|one| one.name.as_str()).collect(),
        "to" => vec!["null", "file", "pipe"],
        _ => Vec::new(),
    }
}

/// The command line with these words, and without files where none is expected.
fn with_words(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let words = words_of(arg.get_id().as_str());
        let names = arg.get_value_names().unwrap_or_default();
        let takes_files = arg.get_value_hint() != ValueHint::Unknown
            || names.first().is_some_and(|name| name == "RESULT");
        if !words.is_empty() && arg.get_value_parser().possible_values().is_none() {
            // A colon in the name would end it in the script of zsh.
            return arg
                .value_name("NAME")
                .value_parser(PossibleValuesParser::new(words));
        }
        let is_option = !arg.is_positional() && arg.get_action().takes_values();
        if is_option && !takes_files { arg.value_hint(ValueHint::Other) } else { arg }
    });
    command.mut_subcommands(with_words)
}

/// Makes the script complete words after a comma, and paths beside words.
fn with_lists(mut script: String, shell: Shell, command: &Command) -> String {
    let with_paths = ["target", "to"].map(|option| words_of(option).join(" "));
    match shell {
        // bash falls back to paths.
        Shell::Bash => {
            script = script.replace("complete -F _vectored ", "complete -F _vectored_lists ");
            script += r#"
_vectored_lists() {
    local list=
    [[ $2 == *,* && $3 == --* ]] && list=${2%,*},
    COMP_WORDS[COMP_CWORD]=${2#"$list"}
    _vectored "$1" "${2#"$list"}" "$3"
    COMPREPLY=("${COMPREPLY[@]/#/$list}")
}
"#;
        }
        Shell::Zsh => {
            let begin = "\n_vectored() {\n";
            let after_comma = "    [[ $words[CURRENT-1] == --* ]] && compset -P '*,'\n";
            script = script.replace(begin, &format!("{begin}{after_comma}"));
            for words in with_paths {
                let action = format!("{{compadd -- {words}; _files}}");
                script = script.replace(&format!("({words})"), &action);
            }
        }
        Shell::Fish => {
            for arg in command.get_subcommands().flat_map(all_arguments) {
                let names = arg.get_possible_values();
                let names: Vec<&str> = names.iter().map(PossibleValue::get_name).collect();
                let plain = names.iter().map(|name| format!("{name}\\t''"));
                let plain = plain.collect::<Vec<_>>().join("\n");
                let words = names.join(" ");
                let paths = if with_paths.contains(&words) { "-F" } else { "-f" };
                let list = match arg.get_value_delimiter() {
                    Some(_) => format!("(__fish_append , {words})"),
                    None => plain.clone(),
                };
                script = script.replace(
                    &format!("-r -f -a \"{plain}\""),
                    &format!("-r {paths} -a \"{list}\""),
                );
            }
        }
        _ => {}
    }
    script
}

fn all_arguments(command: &Command) -> Vec<&Arg> {
    let nested = command.get_subcommands().flat_map(all_arguments);
    command.get_arguments().chain(nested).collect()
}
