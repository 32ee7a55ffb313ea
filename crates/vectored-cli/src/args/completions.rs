//! Options of `vectored completions`.

use clap::Args;
use clap_complete::Shell;

const AFTER: &str = "\
Examples:
  vectored completions bash > ~/.local/share/bash-completion/completions/vectored
          For bash with the package bash-completion: from the next shell on
  vectored completions zsh > ~/.zfunc/_vectored
          For zsh, if ~/.zshrc has 'fpath+=~/.zfunc' before 'compinit'
  vectored completions fish > ~/.config/fish/completions/vectored.fish
          For fish: at once

Exit status: 0 success, 1 failure, 2 wrong usage.";

/// Print a script that completes the options of vectored in a shell
///
/// The Debian package installs these scripts.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub struct CompletionsArgs {
    /// The shell that reads the script
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}
