//! A real terminal on both sides.

use abx_test::Terminal;
use rustix::process::Signal;

use crate::support::Abx;
use crate::support::sandbox::Sandbox;

#[test]
fn size_and_keys_reach_the_command() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let mut terminal = run(&abx, &["exec", "-it", "web", "--", "sh"]);
    terminal.send("stty size; tty; echo $TERM\n");
    terminal.expect("37 91");
    terminal.expect("/dev/pts/");
    terminal.expect("vt220");
    // Ctrl-C ends the command, not abx. What the command itself prints says that it is in the foreground.
    terminal.send("sh -c 'echo begun; exec sleep 60'\n");
    terminal.expect("begun\r\n");
    terminal.send("\u{3}");
    terminal.send("echo $((40 + 2))\n");
    terminal.expect("42");
    assert!(terminal.is_raw());
    terminal.send("exit 9\n");
    assert_eq!(terminal.wait(), Some(9));
    assert!(!terminal.is_raw());
}

#[test]
fn resizes_reach_the_command_and_ctrl_c_ends_it() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let script = "trap 'stty size' WINCH; echo trapped; while :; do sleep 0.05; done";
    let mut terminal = run(&abx, &["exec", "web", "-t", "-i", "--", "sh", "-c", script]);
    terminal.expect("trapped");
    for (rows, columns) in [(50, 120), (10, 20)] {
        terminal.resize(rows, columns);
        terminal.expect(&format!("{rows} {columns}"));
    }
    terminal.send("\u{3}");
    assert_eq!(terminal.wait(), Some(130));
    assert!(!terminal.is_raw());
}

#[test]
fn connect_opens_the_templates_shell() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let mut terminal = run(&abx, &["connect", "web"]);
    terminal.send("stty size; echo in $PWD\n");
    terminal.expect("37 91");
    terminal.expect("/work");
    assert_eq!(terminal.end_of_input(), Some(0));
    assert!(!terminal.is_raw());
}

#[test]
fn the_terminal_is_restored_after_a_signal_and_after_an_error() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let mut terminal = run(&abx, &["exec", "-it", "web", "--", "cat"]);
    terminal.send("here\n");
    terminal.expect("here");
    assert!(terminal.is_raw());
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.wait(), Some(143));
    assert!(!terminal.is_raw());

    let mut terminal = start(&abx, &["exec", "-it", "web", "--", "no-such-program"]);
    assert_eq!(terminal.wait(), Some(127));
    assert!(!terminal.is_raw());
}

#[test]
fn the_terminal_is_restored_when_the_sandbox_goes_away() {
    let abx = Abx::new();
    let Some(web) = Sandbox::start(&abx) else { return };
    let mut terminal = run(&abx, &["exec", "-it", "web", "--", "cat"]);
    terminal.send("here\n");
    terminal.expect("here");
    drop(web);
    assert_eq!(terminal.wait(), Some(137));
    assert!(!terminal.is_raw());
    terminal.expect("E5001");
}

/// A terminal of 37 rows and 91 columns with `abx` in its foreground, which has made it raw: keys pressed before that would
/// be shown by the terminal itself.
fn run(abx: &Abx, words: &[&str]) -> Terminal {
    let mut terminal = start(abx, words);
    terminal.until_raw();
    terminal
}

fn start(abx: &Abx, words: &[&str]) -> Terminal {
    let mut command = abx.command(words);
    command.env("TERM", "vt220");
    Terminal::start(command, 37, 91)
}
