use super::values::{KeyValue, Megabytes, PortPair};
use super::{Cli, Command, Early};
use clap::{CommandFactory, Parser};

fn parse(line: &str) -> Command {
    match Cli::try_parse_from(line.split(' ')) {
        Ok(cli) => cli.command,
        Err(error) => panic!("`{line}`: {error}"),
    }
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn options_stand_before_or_after_positionals_and_short_flags_combine() {
    for line in [
        "abx exec -it web --user root -- ls -la --json",
        "abx exec web -it --user root -- ls -la --json",
        "abx exec --user root -t web -i -- ls -la --json",
        "abx -q exec --user=root web -ti -- ls -la --json",
    ] {
        let Command::Exec(args) = parse(line) else { panic!("{line}") };
        assert_eq!(args.id, "web", "{line}");
        assert_eq!(args.command, ["ls", "-la", "--json"], "{line}");
        assert_eq!(args.user.as_deref(), Some("root"), "{line}");
        assert!(args.stdio.interactive && args.stdio.tty, "{line}");
    }
}

#[test]
fn create_takes_every_option() {
    let line = "abx create --name n --env A=1 --env B=x=y --cpu 0.5 --memory 4GiB --disk 512 --timeout 60 \
                --idle-timeout 30 --port 8080:80 --port 0:90 --network none --no-cache --rm -it ./t -- sh -c true";
    let Command::Create(args) = parse(line) else { panic!("{line}") };
    assert_eq!(args.reference, "./t");
    assert_eq!(args.overrides.env[1], KeyValue { key: "B".into(), value: "x=y".into() });
    assert_eq!(args.overrides.memory, Some(Megabytes(4096)));
    assert_eq!(args.overrides.port[1], PortPair { host: None, guest: 90 });
    assert_eq!(args.command, ["sh", "-c", "true"]);
    assert!(args.attaches());
}

#[test]
fn bad_lines_are_usage_errors() {
    for line in [
        "abx create",
        "abx create base --port 80",
        "abx create base --port 80:0",
        "abx create base --port 80:70000",
        "abx create base --env X",
        "abx create base --env =1",
        "abx create base --memory 0",
        "abx create base --memory 4XB",
        "abx create base --cpu -1",
        "abx create base --cpu nan",
        "abx create base --timeout 1.5",
        "abx create base --network host",
        "abx create base --offline --no-cache",
        "abx exec web",
        "abx exec web ls",
        "abx exec web -t --json -- ls",
        "abx kill",
        "abx kill web --all",
        "abx logs -f --json web",
        "abx list extra",
        "abx completions tcsh",
        "abx list -q -v",
        "abx template cache",
        "abx template cache clean --all --older-than 30d",
        "abx template cache clean --larger-than 1GiB --keep-under 1GiB",
        "abx template cache clean --older-than 30",
        "abx template cache clean --kind thing",
        "abx template vendor",
        "abx nonsense",
    ] {
        let error = Cli::try_parse_from(line.split(' ')).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn early_options_are_those_before_the_command() {
    let scan = |line: &str| Early::scan(&line.split(' ').map(Into::into).collect::<Vec<_>>());
    assert_eq!(scan("abx list --json"), Early { json: true, no_color: false });
    assert_eq!(scan("abx --no-color exec x -- ls --json"), Early { json: false, no_color: true });
}

#[test]
fn every_command_has_examples() {
    fn check(command: &clap::Command) {
        for sub in command.get_subcommands() {
            if sub.has_subcommands() {
                check(sub);
            } else {
                let text = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(text.starts_with("Examples:"), "`{}` shows no example", sub.get_name());
            }
        }
    }
    check(&Cli::command());
}
