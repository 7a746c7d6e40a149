//! `completions` and `man`: made from the same description of the command line as its help.

use clap::CommandFactory as _;

use super::Answer;
use crate::cli::{Cli, ExitCode, Failure};

/// The completion script of a shell.
pub(super) fn completions(shell: clap_complete::Shell) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pool-review", &mut script);
    answer(&script)
}

/// The manual page: the program, then each verb.
pub(super) fn man() -> Result<Answer, Failure> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    let verbs = command.get_subcommands().cloned().collect::<Vec<_>>();
    let render = || -> std::io::Result<()> {
        clap_mangen::Man::new(command).render(&mut page)?;
        for verb in verbs {
            let title = verb.get_name().to_uppercase();
            let man = clap_mangen::Man::new(verb);
            page.extend_from_slice(format!(".SH \"{title}\"\n").as_bytes());
            man.render_description_section(&mut page)?;
            man.render_options_section(&mut page)?;
        }
        Ok(())
    };
    render().map_err(|error| Failure::Failed(error.into()))?;
    Ok(answer(&page))
}

/// Bytes of text as an answer.
fn answer(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    Answer { text, warnings: Vec::new(), code: ExitCode::Finished }
}
