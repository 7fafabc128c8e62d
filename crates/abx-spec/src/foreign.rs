//! Files of the same name that belong to something else.

use crate::yaml::{Entry, Value};

/// What the file looks like, if it is none of ours; by its top keys.
pub(crate) fn recognise(entries: &[Entry]) -> Option<&'static str> {
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    let is_map =
        |key: &str| entries.iter().any(|entry| entry.key == key && matches!(entry.node.value, Value::Map(_)));
    if has("apiVersion") && has("kind") {
        return Some(kubernetes(text(entries, "apiVersion"), text(entries, "kind")));
    }
    if has("metadata") || has("base") {
        return None;
    }
    if text(entries, "Transform").is_some_and(|transform| transform.starts_with("AWS::Serverless")) {
        return Some("an AWS SAM template");
    }
    let known = [
        (has("AWSTemplateFormatVersion") || has("Resources"), "an AWS CloudFormation template"),
        (has("ROSTemplateFormatVersion"), "an Alibaba Cloud ROS template"),
        (has("heat_template_version"), "an OpenStack Heat template"),
        (has("tosca_definitions_version"), "a TOSCA template"),
        (has("openapi") || has("swagger"), "an OpenAPI description"),
        (has("edition") && has("services"), "a Serverless Devs application"),
        (has("provider") && has("functions"), "a Serverless Framework service"),
        (is_map("services"), "a Docker Compose file"),
        (is_map("jobs"), "a CI workflow"),
    ];
    // SAM's older files have only the version key and functions.
    if known[0].0 && has_resource(entries, "AWS::Serverless") {
        return Some("an AWS SAM template");
    }
    known.into_iter().find_map(|(matches, what)| matches.then_some(what))
}

fn kubernetes(api: Option<&str>, kind: Option<&str>) -> &'static str {
    let api = api.unwrap_or_default();
    if api.contains("openshift.io") || kind == Some("Template") && !api.contains("backstage.io") {
        "an OpenShift template"
    } else if api.contains("backstage.io") {
        "a Backstage software template"
    } else {
        "a Kubernetes manifest"
    }
}

fn text<'n>(entries: &'n [Entry], key: &str) -> Option<&'n str> {
    entries.iter().find(|entry| entry.key == key).and_then(|entry| match &entry.node.value {
        Value::Scalar(scalar) => Some(scalar.text.as_str()),
        _ => None,
    })
}

fn has_resource(entries: &[Entry], prefix: &str) -> bool {
    let resources = entries.iter().find(|entry| entry.key == "Resources");
    let Some(Value::Map(resources)) = resources.map(|entry| &entry.node.value) else { return false };
    resources.iter().any(|resource| match &resource.node.value {
        Value::Map(fields) => text(fields, "Type").is_some_and(|kind| kind.starts_with(prefix)),
        _ => false,
    })
}
