//! What is told of a template that is built here.

use super::with_python;

#[test]
fn a_built_template_has_its_size_and_its_tags() {
    let Some(abx) = with_python() else { return };
    let reference = abx.template("shop", "base: {from: base}\nbuild: {run: [\"echo v > /app/v\"]}\n");
    let size = |words: &[&str]| {
        let ran = abx.run(&[&["template", "info", "--json"], words].concat()).success();
        let value: serde_json::Value = serde_json::from_str(&ran).expect("JSON");
        (value["size"].as_u64(), value["versions"]["rows"].clone())
    };
    let base = size(&["base"]).0.expect("base is built");
    assert_eq!(size(&[&reference]).0, None, "not built yet");
    for tag in ["1.0.0", "1.10.0"] {
        abx.run(&["template", "build", &reference, "--name", "shop", "--tag", tag]).success();
    }
    let (built, _) = size(&[&reference]);
    assert!(built.expect("built") > base);
    let (stored, rows) = size(&["shop"]);
    assert_eq!(stored, built);
    let tag = |tag: &str| rows.as_array().into_iter().flatten().find(|row| row["tag"] == tag).cloned();
    let newest = tag("1.10.0").unwrap_or_else(|| panic!("{rows}"));
    assert_eq!((newest["is_latest"].as_bool(), newest["size"].as_u64()), (Some(true), built), "{rows}");
    assert!(newest["date"].as_str().is_some_and(|date| date.len() == 10), "{rows}");
    assert_eq!(tag("1.0.0").map(|row| row["is_latest"].clone()), Some(false.into()), "{rows}");
    let text = abx.run(&["template", "info", "shop"]).success();
    assert!(text.contains("TAG     DATE") && text.contains("latest") && text.contains("local"), "{text}");
    let list = abx.run(&["template", "list", "--json"]).success();
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let listed = list.as_array().into_iter().flatten().find(|row| row["name"] == "shop").expect("shop");
    assert_eq!(listed["size"].as_u64(), built);
    assert!(listed["created"].as_u64().is_some());
}
