//! Indexes of templates: what is read, and every way in which one is refused.

use abx_core::Fault;
use abx_spec::index::parse;
use abx_spec::{Index, Invalid, Status};

fn read(text: &str) -> Result<Index, Invalid> {
    parse(text, "index.yaml")
}

/// Each fault as `line:column message`.
fn faults(text: &str) -> Vec<String> {
    let Err(invalid) = read(text) else { panic!("nothing is wrong with {text:?}") };
    let shown =
        |fault: &abx_spec::Diagnostic| format!("{}:{} {fault}", fault.snippet.line, fault.snippet.column);
    invalid.diagnostics().map(shown).collect()
}

#[test]
fn an_entry_has_all_its_keys_read_and_strange_ones_mean_nothing() {
    let index = read(
        "# mine\nschema_version: 1\nupdated: 2026-01-01\ntemplates:\n  - name: My.Agent\n    repo: https://github.com/Owner/repo.git\n    \
         path: ./a/b/\n    ref: feature/x\n    description: 数据 agent\n    tags: [a, b]\n    author: me\n    \
         capabilities: [shell]\n    status: official\n    category: web\n    triggers: [go]\n    stars: {of: 5}\n  \
         - {name: plain, repo: 'git@github.com:o/r.git', description: ''}\n",
    )
    .expect("valid");
    let [full, plain] = &index.listings[..] else { panic!("{index:#?}") };
    assert_eq!(
        (full.name.as_str(), full.github.to_string().as_str()),
        ("My.Agent", "Owner/repo//a/b@feature/x")
    );
    assert_eq!(full.description.as_deref(), Some("数据 agent"));
    assert_eq!((&full.tags[..], &full.triggers[..]), (&["a".into(), "b".into()][..], &["go".into()][..]));
    assert_eq!((full.author.as_deref(), full.category.as_deref()), (Some("me"), Some("web")));
    assert_eq!((full.status, full.place.line), (Status::Official, 5));
    assert_eq!((plain.github.to_string().as_str(), plain.status), ("o/r", Status::Community));
    assert_eq!(plain.description, None);
}

#[test]
fn the_least_is_a_list() {
    for text in ["templates: []", "schema_version: 1\ntemplates: []\n", "\u{feff}templates: []"] {
        assert_eq!(read(text).expect(text), Index::default());
    }
}

#[test]
fn what_is_wrong_is_named_at_its_place() {
    for (text, expected) in [
        ("", "1:1 an index is a map with the list `templates`, not an empty file"),
        ("# nothing\n", "1:1 an index is a map with the list `templates`, not an empty file"),
        ("- a\n", "1:1 an index is a map with the list `templates`, not a list"),
        ("<html>", "1:1 an index is a map with the list `templates`, not a string"),
        ("templates: {a: 1}", "1:12 `templates` must be a list, not a map"),
        ("schema_version: 1", "1:1 the key `templates` is missing"),
        ("template: []", "1:1 unknown key `template`"),
        ("schema_version: 2\ntemplates: 5\nx: [", "3:4 this is no YAML"),
        ("schema_version: 2\ntemplates: 5\n", "1:17 this index has schema version 2, and needs a newer abx"),
        ("schema_version: 0\ntemplates: []\n", "1:17 schema version 0 is not known here"),
        (
            "schema_version: \"1\"\ntemplates: []\n",
            "1:17 `schema_version` must be a whole number, not a string",
        ),
        ("templates: [a]", "1:13 `templates` must be a list of maps with `name` and `repo`, not a string"),
        ("templates: [{name: a}]", "1:13 the key `repo` is missing"),
        ("templates: [{name: a, rep: o/r}]", "1:23 unknown key `rep`"),
        ("templates: [{name: 'a b', repo: o/r}]", "1:20 `a b` cannot name a template: "),
        ("templates: [{name: ../a, repo: o/r}]", "1:20 `../a` cannot name a template: "),
        (
            "templates: [{name: 3, repo: o/r}]",
            "1:20 `name` must be a string, and `3` without quotes is a number",
        ),
        (
            "templates: [{name: a, repo: 'file:/etc'}]",
            "1:29 `repo` is a repository on GitHub, and `file:/etc` is none",
        ),
        ("templates: [{name: a, repo: ../x}]", "1:29 `repo` is a repository on GitHub, and `../x` is none"),
        (
            "templates: [{name: a, repo: 'docker://x'}]",
            "1:29 `repo` is a repository on GitHub, and `docker://x` is none",
        ),
        ("templates: [{name: a, repo: base}]", "1:29 `repo` is a repository on GitHub, and `base` is none"),
        (
            "templates: [{name: a, repo: 'https://evil.example/o/r'}]",
            "1:29 malformed reference `https://evil.example/o/r`",
        ),
        ("templates: [{name: a, repo: 'https://github.com@evil.example/o/r'}]", "1:29 malformed reference"),
        ("templates: [{name: a, repo: o/r/x}]", "1:29 `repo` is a repository alone, and `o/r/x` has more"),
        ("templates: [{name: a, repo: o/r@v1}]", "1:29 `repo` is a repository alone, and `o/r@v1` has more"),
        ("templates: [{name: a, repo: o/r, path: ../x}]", "1:40 malformed reference `o/r//../x`"),
        ("templates: [{name: a, repo: o/r, path: /etc}]", "1:40 malformed reference `o/r///etc`"),
        ("templates: [{name: a, repo: o/r, path: 'x@y'}]", "1:40 malformed reference `o/r//x@y`"),
        ("templates: [{name: a, repo: o/r, ref: 'a b'}]", "1:39 malformed reference `o/r@a b`"),
        (
            "templates: [{name: a, repo: o/r, ref: 1.10}]",
            "1:39 `ref` must be a string, and `1.10` without quotes",
        ),
        ("templates: [{name: a, repo: o/r, tags: a}]", "1:40 `tags` must be a list, not a string"),
        (
            "templates: [{name: a, repo: o/r, status: offical}]",
            "1:42 `status` is `offical`, which is none of",
        ),
        (
            "templates:\n- {name: Abc, repo: o/r}\n- {name: aBC, repo: o/r}",
            "3:10 the template `aBC` is there twice, first in line 2",
        ),
        ("templates: [{name: a, name: b, repo: o/r}]", "1:23 the key `name` is there twice"),
        ("templates: [!ruby/object {name: a, repo: o/r}]", "1:26 the tag"),
    ] {
        let found = faults(text);
        assert!(found[0].starts_with(expected), "{text:?}: {found:#?}");
        assert_eq!(found.len(), 1, "{text:?}: {found:#?}");
    }
}

#[test]
fn all_faults_come_in_one_run_with_advice() {
    let text = "templates:\n  - name: a\n    repo: o/r/x\n    status: offical\n  - nmae: b\n    repo: o/r\n";
    assert_eq!(faults(text).len(), 3, "{:#?}", faults(text));
    let invalid = read(text).expect_err("invalid");
    assert_eq!((invalid.code().as_str(), invalid.others().len()), ("E2004", 2));
    assert!(invalid.hints()[0].contains("`path`"), "{:?}", invalid.hints());
    assert_eq!(invalid.others()[0].hints(), ["did you mean `official`?"]);
    assert_eq!(invalid.others()[1].hints(), ["did you mean `name`?"]);
}

#[test]
fn bombs_end() {
    let mut text = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (letter, before) in "bcdefgh".chars().zip("abcdefg".chars()) {
        text += &format!("{letter}: &{letter} [{}]\n", vec![format!("*{before}"); 10].join(","));
    }
    assert!(faults(&text)[0].contains("more than 400000 values"), "{:?}", faults(&text));
    let long = format!("templates: []\n# {}", "x".repeat(9 << 20));
    assert_eq!(faults(&long), ["1:1 the file is larger than 8388608 bytes"]);
    let deep = format!("templates: {}{}", "[".repeat(500), "]".repeat(500));
    assert_eq!(faults(&deep).len(), 1);
}

#[test]
fn a_real_index_is_read() {
    let Some(data) = std::env::var_os("ABX_TEST_DATA") else { return };
    let path = std::path::Path::new(&data).join("templates-corpus/index/awesome-templates.yaml");
    let text = std::fs::read_to_string(path).expect("the corpus");
    let index = read(&text).unwrap_or_else(|invalid| panic!("{invalid}: {:?}", invalid.snippets()));
    let found = index.listings.iter().find(|listing| listing.name == "browser-automation").expect("listed");
    assert_eq!(found.github.to_string(), "Easy-Sandbox/awesome-templates//browser-automation");
    assert_eq!(found.status, Status::Official);
}

#[test]
fn whatever_the_text_reading_ends_and_points_into_it() {
    let whole = "schema_version: 1\ntemplates:\n  - {name: a, repo: o/r, path: p, ref: v1, tags: [x, 数据]}\n  - name: b\n    \
                 repo: https://github.com/o/r\n    status: official\n    description: \"d\"\n";
    let letters: Vec<char> = whole.chars().collect();
    let check = |text: &str| {
        let Err(invalid) = read(text) else { return };
        for fault in invalid.diagnostics() {
            let snippet = &fault.snippet;
            assert!(snippet.line >= 1 && snippet.column >= 1 && snippet.length >= 1, "{text:?}: {snippet:?}");
            assert!(snippet.line <= text.lines().count().max(1), "{text:?}: {snippet:?}");
        }
    };
    for at in 0..letters.len() {
        check(&letters[..at].iter().collect::<String>());
        for strange in ['\t', ':', '-', '[', '{', '"', '*', '&', '!', '\n', '\0', '名'] {
            let mut text = letters.clone();
            text[at] = strange;
            check(&text.iter().collect::<String>());
            text.remove(at);
            check(&text.iter().collect::<String>());
        }
    }
}

/// `docs/template-index.md` tells publishers what is read here.
#[test]
fn the_document_has_every_key_and_its_example_is_read() {
    let document = include_str!("../../../docs/template-index.md");
    let (_, rest) = document.split_once("```yaml\n").expect("an example");
    let (example, rest) = rest.split_once("```").expect("its end");
    let index = read(example).expect("the example");
    let listing = &index.listings[0];
    assert_eq!(listing.github.to_string(), "owner/repo//templates/scraper@v1.0");
    assert!(listing.description.is_some() && listing.author.is_some() && listing.category.is_some());
    assert!([&listing.tags, &listing.triggers, &listing.capabilities].iter().all(|words| !words.is_empty()));
    let documented =
        rest.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(key, _)| key);
    let written = example.lines().filter_map(|line| line.trim_start_matches([' ', '-']).split_once(':'));
    let written: Vec<&str> = written.map(|(key, _)| key).collect();
    assert_eq!(documented.collect::<Vec<_>>(), written);
}
