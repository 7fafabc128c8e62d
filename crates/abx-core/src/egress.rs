//! What of the outside a sandbox may reach: rules as values, and what follows from them.
//!
//! Rules are looked at in order; the first that matches decides, and where none does, the default. [`target`] is what a
//! rule is about, this file what the rules together say of a name and of an address.
//!
//! **Invariant:** pure. Who enforces a policy (the packet filter and the name relay of abx-isolate) asks here and
//! nowhere else.

pub mod target;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use target::{Place, Target, TargetError};

/// A policy. Without one a sandbox reaches everything but the host, other sandboxes and metadata services.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Egress {
    /// The first that matches decides.
    pub rules: Vec<Rule>,
    /// What holds where none matches.
    pub default: Verdict,
}

/// Whether something may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Allow,
    Deny,
}

/// A verdict on a target; as text `allow example.com:443`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rule {
    pub verdict: Verdict,
    pub target: Target,
}

/// Why something is refused: the number of the rule, or `None` for the default.
pub type Refusal = Option<usize>;

impl Egress {
    /// Rules in one policy.
    pub const MOST_RULES: usize = 256;

    /// Of two lists as a template or a caller gives them: what is allowed goes before what is denied. Where no default
    /// is given, a list of what is allowed alone denies the rest, anything else allows it.
    pub fn of_lists(allow: &[Target], deny: &[Target], default: Option<Verdict>) -> Self {
        let rules = Rule::all(Verdict::Allow, allow).chain(Rule::all(Verdict::Deny, deny)).collect();
        let unsaid = if !allow.is_empty() && deny.is_empty() { Verdict::Deny } else { Verdict::Allow };
        Self { rules, default: default.unwrap_or(unsaid) }
    }

    /// This policy with the rules of a nearer one before its own. The default stays.
    #[must_use]
    pub fn after(mut self, nearer: Self) -> Self {
        self.rules.splice(0..0, nearer.rules);
        self
    }

    /// Whether a name may be resolved, and the numbers of the rules that its addresses then fall under.
    ///
    /// # Errors
    /// The name must not be resolved.
    pub fn resolve(&self, name: &str) -> Result<Vec<usize>, Refusal> {
        let mut matched = Vec::new();
        // A rule about some ports of a name needs its addresses, whatever holds for the other ports.
        let mut is_wanted = false;
        for (number, Rule { verdict, target }) in self.rules.iter().enumerate() {
            let is_name = target.place.has_name(name);
            if !is_name && !target.place.is_everything() {
                continue;
            }
            if (*verdict, target.port) == (Verdict::Deny, None) {
                return if is_wanted { Ok(matched) } else { Err(Some(number)) };
            }
            if is_name {
                matched.push(number);
            }
            is_wanted |= *verdict == Verdict::Allow;
            if (*verdict, target.port) == (Verdict::Allow, None) {
                return Ok(matched);
            }
        }
        if is_wanted || self.default == Verdict::Allow { Ok(matched) } else { Err(None) }
    }

    /// Whether a port of an address may be reached that goes by these names, too.
    ///
    /// # Errors
    /// It must not be reached.
    pub fn reach(&self, address: IpAddr, port: u16, names: &[&str]) -> Result<(), Refusal> {
        let matches = |rule: &Rule| {
            let place = &rule.target.place;
            rule.target.port.is_none_or(|wanted| wanted == port)
                && (place.has_address(address) || names.iter().any(|name| place.has_name(name)))
        };
        let found = self.rules.iter().position(matches);
        match found.map_or(self.default, |number| self.rules[number].verdict) {
            Verdict::Allow => Ok(()),
            Verdict::Deny => Err(found),
        }
    }

    /// A refusal in words: `rule deny 10.0.0.0/8`, `the default, deny`.
    pub fn describe(&self, refusal: Refusal) -> String {
        match refusal.and_then(|number| self.rules.get(number)) {
            Some(rule) => format!("rule `{rule}`"),
            None => format!("the default, `{}`", self.default),
        }
    }
}

impl Rule {
    fn all(verdict: Verdict, targets: &[Target]) -> impl Iterator<Item = Self> {
        targets.iter().map(move |target| Self { verdict, target: target.clone() })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verdict, self.target)
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for Rule {
    type Error = TargetError;

    fn try_from(text: String) -> Result<Self, TargetError> {
        let (verdict, target) = match text.split_once(' ') {
            Some(("allow", target)) => (Verdict::Allow, target),
            Some(("deny", target)) => (Verdict::Deny, target),
            _ => return Err(TargetError::Rule { text }),
        };
        Ok(Self { verdict, target: Target::from_str(target)? })
    }
}

#[cfg(test)]
mod tests;
