//! `-it` and `connect`: a real terminal.

use abx_test::{Terminal, wait_until};

use super::shared;

#[test]
fn a_terminal_has_size_resizes_and_job_control() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let mut command = abx.command(&["exec", "-it", &sandbox.id, "--", "bash", "--norc"]);
    command.env("TERM", "vt220");
    let mut terminal = Terminal::start(command, 37, 91);
    terminal.until_raw();
    terminal.send("stty size; tty; echo $TERM; ps -o tty= -p $$; set +b\n");
    terminal.expect("37 91");
    terminal.expect("/dev/pts/");
    terminal.expect("vt220");
    terminal.expect("pts/");
    terminal.resize(50, 120);
    terminal.send("until [ \"$(stty size)\" = '50 120' ]; do sleep 0.05; done; echo re''sized\n");
    terminal.expect("resized");
    terminal.expect("$ ");
    let in_foreground = || {
        let look = sandbox.exec(&["sh", "-c", "ps -C cat -o stat= | grep -q +"]);
        (look.status == Some(0)).then_some(())
    };
    // Ctrl-C ends what is in the foreground and nothing else; Ctrl-Z stops it.
    terminal.send("cat\n");
    wait_until("cat in the foreground", in_foreground);
    terminal.send("\u{3}");
    terminal.expect("$ ");
    terminal.send("echo $((40 + 2))\n");
    terminal.expect("42");
    terminal.send("cat\n");
    wait_until("cat in the foreground", in_foreground);
    terminal.send("\u{1a}");
    terminal.expect("Stopped");
    terminal.expect("$ ");
    terminal.send("fg\n");
    wait_until("cat in the foreground", in_foreground);
    terminal.send("\u{3}");
    terminal.expect("$ ");
    terminal.send("exit 9\n");
    assert_eq!(terminal.wait(), Some(9));
    assert!(!terminal.is_raw(), "the terminal is left as it was");
}

#[test]
fn connect_opens_the_templates_shell_as_a_login_shell_in_its_folder() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let mut terminal = Terminal::start(abx.command(&["connect", &sandbox.id]), 24, 80);
    terminal.until_raw();
    terminal.send("shopt -q login_shell && echo log''in; echo in $PWD as $(id -un) with $LANG\n");
    terminal.expect("login");
    terminal.expect("in /app as user with C.UTF-8");
    assert_eq!(terminal.end_of_input(), Some(0));
}

#[test]
fn create_with_it_opens_a_shell() {
    let Some(abx) = shared() else { return };
    let command = abx.command(&["create", "--rm", "-it", "--network", "none", "base"]);
    let mut terminal = Terminal::start(command, 24, 80);
    terminal.until_raw();
    terminal.send("stty size; exit 5\n");
    terminal.expect("24 80");
    assert_eq!(terminal.wait(), Some(5));
}

#[test]
fn a_terminal_that_is_asked_for_must_be_there() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let ran = abx.run(&["exec", "-it", &sandbox.id, "--", "true"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:#?}");
    assert!(ran.stderr.contains("terminal"), "{ran:#?}");
}

#[test]
fn a_template_that_names_no_shell_has_bash_where_it_is_there_and_else_sh() {
    let Some(abx) = super::with_debian() else { return };
    for (name, build, shell) in
        [("with-bash", "", "/bin/bash"), ("without-bash", "build: {run: [rm /bin/bash]}\n", "/bin/sh")]
    {
        let template = abx.template(name, &format!("base: {{image: \"debian:bookworm-slim\"}}\n{build}"));
        let sandbox = abx.create(&[&template, "--network", "none"]);
        assert_eq!(sandbox.info()["shell"], shell);
        let mut terminal = Terminal::start(abx.command(&["connect", &sandbox.id]), 24, 80);
        terminal.until_raw();
        terminal.send("echo $0 of ''$(id -un); exit\n");
        terminal.expect(&format!("{shell} of user"));
        terminal.wait();
    }
}
