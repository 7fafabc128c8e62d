//! Two hundred fetches of one reference at the same time, by processes some of which are killed.
//!
//! The processes are this test again: with [`TASK`] in its environment it fetches instead of testing.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use abx_core::{Home, Silent};
use abx_source::{GithubSettings, SourceContext, fetch};
use abx_test::github::{LoopbackGithub, Trick};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: hello}\nbase: {image: debian}\n";

/// `HOME_DIRECTORY API_ADDRESS` for a process that fetches.
const TASK: &str = "ABX_TEST_CROWD";

const PROCESSES: usize = 25;
const AT_ONCE: usize = 8;
const VICTIMS: usize = 8;

/// Where the victims' last moments come from.
const SEED: u64 = 2026;

#[test]
fn everybody_who_lives_has_the_one_entry_that_is_there() {
    if let Ok(task) = std::env::var(TASK) {
        let (home, api) = task.rsplit_once(' ').expect("a task");
        return fetch_at_once("o/r", home, api);
    }
    let dir = tempfile::tempdir().expect("tempdir");
    let home = Home::new(dir.path().join("home"));
    let github = LoopbackGithub::start();
    // Enough that being killed in the middle of it is likely.
    let content = "0123456789abcde\n".repeat(4096);
    let names: Vec<String> = (0..300).map(|number| format!("files/{}/{number}", number % 17)).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), content.as_str())).collect();
    files.push(("template.yaml", TEMPLATE));
    github.put("o/r", "HEAD", COMMIT, &files);
    // Those who come first are slow, and among them are the victims.
    github.play("/codeload/", Trick::Stall(Duration::from_millis(50)), VICTIMS);

    let crowd: Vec<Child> = (0..PROCESSES).map(|_| start(&home, &github)).collect();
    let (killed, ends) = kill_some(crowd);
    for (index, status, said) in ends {
        match killed.contains(&index) {
            true => assert!(status.success() || status.signal() == Some(9), "{status}: {said}"),
            false => assert!(status.success(), "{status}: {said}"),
        }
    }

    let asked = github.asked("/codeload/").len();
    assert!((1..=1 + VICTIMS).contains(&asked), "{asked} downloads, though only {VICTIMS} were killed");
    let commits = github.asked("/commits/").len();
    assert!((1..=1 + VICTIMS).contains(&commits), "{commits} questions");
    // What the killed have left half-made goes with the next one who fetches.
    github.put("p/q", "HEAD", COMMIT, &[("template.yaml", TEMPLATE)]);
    fetch_at_once("p/q", home.root().to_str().expect("text"), &github.url());
    assert_eq!(std::fs::read_dir(home.store("staging")).expect("staging").count(), 0);
    let walk = walkdir::WalkDir::new(home.store("packages")).into_iter().flatten();
    let marks: Vec<_> = walk.filter(|entry| entry.file_name() == "package.json").collect();
    assert_eq!(marks.len(), 2, "one of each repository");
    let tree = home.templates().join("o/r/default");
    for (name, content) in &files {
        assert!(std::fs::read_to_string(tree.join(name)).is_ok_and(|found| found == *content), "{name}");
    }
}

/// Kills some after a random time each, and waits for all. Returns who was killed, and everybody's end.
fn kill_some(mut crowd: Vec<Child>) -> (Vec<usize>, Vec<(usize, std::process::ExitStatus, String)>) {
    let mut state = SEED;
    let mut random = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut killed = Vec::new();
    while killed.len() < VICTIMS {
        let victim = random(PROCESSES as u64) as usize;
        if !killed.contains(&victim) {
            std::thread::sleep(Duration::from_millis(random(60)));
            crowd[victim].kill().expect("kill");
            killed.push(victim);
        }
    }
    let end = |(index, child): (usize, Child)| {
        let output = child.wait_with_output().expect("the end");
        let said = [output.stdout, output.stderr].concat();
        (index, output.status, String::from_utf8_lossy(&said).into_owned())
    };
    (killed, crowd.into_iter().enumerate().map(end).collect())
}

fn start(home: &Home, github: &LoopbackGithub) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "everybody_who_lives_has_the_one_entry_that_is_there"]);
    command.env(TASK, format!("{} {}", home.root().display(), github.url()));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process")
}

/// What one process of the crowd does.
fn fetch_at_once(reference: &str, home: &str, api: &str) {
    let settings = GithubSettings { api: api.to_owned(), ..GithubSettings::default() };
    let context = SourceContext::new(Home::new(home), home.into(), None);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let tasks: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                let (reference, context, settings) =
                    (reference.to_owned(), context.clone(), settings.clone());
                tokio::spawn(async move { fetch(&reference, &context, &settings, &Silent).await.map(drop) })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic").expect("fetched");
        }
    });
}
