use super::*;
use crate::Fault;

fn target(text: &str) -> Target {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn targets(words: &[&str]) -> Vec<Target> {
    words.iter().map(|word| target(word)).collect()
}

fn lists(allow: &[&str], deny: &[&str], default: Option<Verdict>) -> Egress {
    Egress::of_lists(&targets(allow), &targets(deny), default)
}

#[test]
fn targets_are_read_and_written() {
    for (text, written) in [
        ("*", "*"),
        ("*:443", "*:443"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.0/8:22", "10.0.0.0/8:22"),
        ("93.184.216.34/32", "93.184.216.34"),
        ("93.184.216.34:80", "93.184.216.34:80"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("::1", "::1"),
        ("2001:db8:0:0:0:0:0:1", "2001:db8::1"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("[2001:db8::/32]:443", "[2001:db8::/32]:443"),
        ("Example.COM.", "example.com"),
        ("example.com:443", "example.com:443"),
        ("*.example.com", "*.example.com"),
        ("*.example.com:8080", "*.example.com:8080"),
        ("localhost", "localhost"),
        ("_dns.example.com", "_dns.example.com"),
    ] {
        assert_eq!(target(text).to_string(), written, "{text}");
        assert_eq!(target(written), target(text));
    }
}

#[test]
fn what_is_no_target_says_why() {
    for (text, words) in [
        ("", "nothing is no target"),
        ("example.com:0", "`0` is no port"),
        ("example.com:http", "`http` is no port"),
        ("10.0.0.0/33", "`33` is no length"),
        ("10.1.2.3/8", "did you mean `10.0.0.0/8`?"),
        ("2001:db8::1/32", "did you mean `2001:db8::/32`?"),
        ("300.1.1.1", "`300.1.1.1` is no address"),
        ("1.2.3", "`1.2.3` is no address"),
        ("https://example.com", "the host alone"),
        ("https://example.com:443/x", "the host alone"),
        ("example.com/path", "the host alone"),
        ("ex*mple.com", "at the beginning"),
        ("*example.com", "at the beginning"),
        ("bücher.de", "xn--"),
        ("a b", "a target is"),
        ("[::1", "no address"),
        ("[::1]x", "`x` is no port"),
        ("a..b", "a target is"),
    ] {
        let error = text.parse::<Target>().expect_err(text);
        let told = format!("{error} {}", error.hints().join(" "));
        assert!(told.contains(words), "{text}: {told}");
    }
}

#[test]
fn names_match_to_the_letter_and_below_at_any_depth() {
    for (place, name, matches) in [
        ("example.com", "example.com", true),
        ("example.com", "EXAMPLE.com.", true),
        ("example.com", "www.example.com", false),
        ("*.example.com", "www.example.com", true),
        ("*.example.com", "a.b.Example.Com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", ".example.com", false),
        ("*.example.com", "notexample.com", false),
        ("*.example.com", "example.com.evil.net", false),
        ("10.0.0.0/8", "10.0.0.1", false),
    ] {
        assert_eq!(target(place).place.has_name(name), matches, "{place} {name}");
    }
}

#[test]
fn addresses_are_of_a_network() {
    for (place, address, matches) in [
        ("10.0.0.0/8", "10.255.0.1", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("10.0.0.0/8", "::ffff:10.0.0.1", true),
        ("0.0.0.0/0", "1.2.3.4", true),
        ("0.0.0.0/0", "2001:db8::1", false),
        ("::/0", "2001:db8::1", true),
        ("2001:db8::/33", "2001:db8:7fff::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false),
        ("*", "2001:db8::1", true),
        ("example.com", "1.2.3.4", false),
    ] {
        assert_eq!(
            target(place).place.has_address(address.parse().expect("address")),
            matches,
            "{place} {address}"
        );
    }
}

#[test]
fn what_is_allowed_goes_before_what_is_denied() {
    let egress = lists(&["10.1.0.0/16"], &["10.0.0.0/8"], None);
    let reach = |address: &str| egress.reach(address.parse().expect("address"), 80, &[]);
    assert_eq!(egress.default, Verdict::Allow);
    assert_eq!(reach("10.1.2.3"), Ok(()));
    assert_eq!(reach("10.2.2.3"), Err(Some(1)));
    assert_eq!(reach("1.2.3.4"), Ok(()));
    assert_eq!(egress.describe(Some(1)), "rule `deny 10.0.0.0/8`");
}

#[test]
fn a_list_of_what_is_allowed_alone_denies_the_rest() {
    let egress = lists(&["example.com"], &[], None);
    assert_eq!(egress.default, Verdict::Deny);
    assert_eq!(egress.resolve("example.com"), Ok(vec![0]));
    assert_eq!(egress.resolve("other.com"), Err(None));
    assert_eq!(egress.describe(None), "the default, `deny`");
    assert_eq!(lists(&["example.com"], &[], Some(Verdict::Allow)).resolve("other.com"), Ok(vec![]));
    assert_eq!(lists(&[], &[], None).default, Verdict::Allow);
}

#[test]
fn names_are_resolved_where_some_port_of_them_may_be_reached() {
    for (allow, deny, default, name, expected) in [
        (&["a.com:443", "a.com:80"][..], &[][..], None, "a.com", Ok(vec![0, 1])),
        (&["a.com:443"], &["a.com"], None, "a.com", Ok(vec![0])),
        (&["*:443"], &["*"], None, "any.net", Ok(vec![])),
        (&[], &["a.com:25"], None, "a.com", Ok(vec![0])),
        (&[], &["a.com"], None, "a.com", Err(Some(0))),
        (&[], &["*.a.com"], None, "x.a.com", Err(Some(0))),
        (&[], &["*.a.com"], None, "a.com", Ok(vec![])),
        (&["x.a.com"], &["*.a.com"], None, "x.a.com", Ok(vec![0])),
        (&["a.com"], &["0.0.0.0/0"], None, "b.com", Err(Some(1))),
        (&["10.0.0.0/8"], &[], None, "db.corp", Err(None)),
        (&["10.0.0.0/8", "*.corp"], &[], None, "db.corp", Ok(vec![1])),
        (&["*"], &["a.com"], None, "a.com", Ok(vec![])),
    ] {
        assert_eq!(lists(allow, deny, default).resolve(name), expected, "{allow:?} {deny:?} {name}");
    }
}

#[test]
fn the_nearer_rules_go_first_and_the_default_stays() {
    let template = lists(&["pypi.example"], &[], None);
    let caller = lists(&["api.example"], &["pypi.example"], None);
    let both = template.after(caller);
    assert_eq!(both.resolve("api.example"), Ok(vec![0]));
    assert_eq!(both.resolve("pypi.example"), Err(Some(1)));
    assert_eq!(both.resolve("other.example"), Err(None));
}

#[test]
fn a_policy_survives_being_written() {
    let egress = lists(&["a.com:443", "[2001:db8::/32]:22"], &["*"], None);
    let text = serde_json::to_string(&egress).expect("json");
    assert_eq!(
        text,
        r#"{"rules":["allow a.com:443","allow [2001:db8::/32]:22","deny *"],"default":"allow"}"#
    );
    assert_eq!(serde_json::from_str::<Egress>(&text).expect("policy"), egress);
    assert!(serde_json::from_str::<Rule>(r#""permit a.com""#).is_err());
}
