//! How the tokens of services look: one table for what hides them (redaction) and what reports them (lint).
//!
//! It is not a file of `catalog/`: newer catalog files are read from the user's cache, and a file there must
//! never be able to show a token that this program hides. `host` does not use the catalog either.

/// The tokens of one service.
#[derive(Debug)]
pub struct TokenShape {
    /// Who issues them.
    pub service: &'static str,
    /// A regular expression without anchors. Tokens that were cut off match too: hiding too much does no
    /// harm.
    pub(super) pattern: &'static str,
    /// How whole tokens begin, and the fewest letters, digits, `_` and `-` that follow: what is reported must
    /// be certain. Empty where tokens are hidden only.
    pub whole: &'static [(&'static str, usize)],
    /// Where the shape was read: a file below cmd/generate/config/rules of gitleaks/gitleaks@b58d3f10, or
    /// another document; [`UNREAD`].
    pub source: &'static str,
}

/// The source of shapes from general knowledge; the service's own documents were not read.
pub const UNREAD: &str = "secondary; the service's own documents were not read";

const fn shape(
    service: &'static str,
    pattern: &'static str,
    whole: &'static [(&'static str, usize)],
    source: &'static str,
) -> TokenShape {
    TokenShape { service, pattern, whole, source }
}

/// Every shape that is known. Where two match at one place, the first one counts.
pub const TOKEN_SHAPES: &[TokenShape] = &[
    // Code and models.
    shape(
        "Hugging Face",
        r"hf_[A-Za-z0-9]{8,}|api_org_[A-Za-z0-9]{16,}",
        &[("hf_", 34)],
        "gitleaks: huggingface.go",
    ),
    shape("Replicate", r"r8_[A-Za-z0-9]{20,}", &[], UNREAD),
    shape("NVIDIA", r"nvapi-[\w-]{8,}", &[], UNREAD),
    shape(
        "GitHub",
        r"gh[pousr]_[A-Za-z0-9]{8,}|github_pat_\w{8,}",
        &[("ghp_", 36), ("gho_", 36), ("ghs_", 36), ("github_pat_", 60)],
        "gitleaks: github.go",
    ),
    shape(
        "GitLab",
        r"gl(?:pat|dt|ft|rt|soat|ptt|cbt|ffct|imt|agent|oas)-[\w.-]{8,}",
        &[("glpat-", 20)],
        "gitleaks: gitlab.go",
    ),
    shape(
        "OpenAI, Anthropic and others",
        r"sk-[A-Za-z0-9_-]{12,}",
        &[("sk-proj-", 40), ("sk-ant-", 40)],
        "gitleaks: openai.go, anthropic.go",
    ),
    shape("Perplexity", r"pplx-[A-Za-z0-9]{20,}", &[], "gitleaks: perplexity.go"),
    shape("Groq", r"gsk_[A-Za-z0-9]{20,}", &[], UNREAD),
    shape("Weights & Biases", r"wandb_v\d_\w{20,}", &[], UNREAD),
    shape("Docker Hub", r"dckr_(?:pat|oat)_[\w-]{4,}", &[], UNREAD),
    shape("npm", r"npm_[A-Za-z0-9]{20,}", &[], "gitleaks: npm.go"),
    shape("PyPI", r"pypi-[\w-]{16,}", &[], "gitleaks: pypi.go"),
    shape("RubyGems", r"rubygems_[a-f0-9]{32,}", &[], "gitleaks: rubygems.go"),
    // Clouds and clusters.
    shape("AWS", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{8,}", &[("AKIA", 16)], "gitleaks: aws.go"),
    shape("Alibaba Cloud", r"LTAI[A-Za-z0-9]{12,}", &[], "gitleaks: alibaba.go"),
    shape("Google Cloud", r"AIza[\w-]{30,}", &[], "gitleaks: gcp.go"),
    shape("Google OAuth", r"ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,}", &[], UNREAD),
    shape("DigitalOcean", r"do[opr]_v1_[a-f0-9]{32,}", &[], "gitleaks: digitalocean.go"),
    shape("Databricks", r"dapi[a-f0-9]{32}(?:-\d)?", &[], "gitleaks: databricks.go"),
    shape("Tailscale", r"tskey-[\w-]{10,}", &[], UNREAD),
    shape(
        "Docker Swarm",
        r"SWM(?:TKN|KEY)-1-[\w-]{20,}",
        &[],
        "docker/cli: docs/reference/commandline/swarm_join-token.md, swarm_unlock-key.md",
    ),
    shape("HashiCorp Vault", r"hv[sb]\.[\w-]{16,}", &[], "gitleaks: hashicorp_vault.go"),
    shape("HashiCorp Terraform", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{20,}", &[], "gitleaks: hashicorp.go"),
    shape("OpenShift", r"sha256~[\w-]{43}", &[], "gitleaks: openshift.go"),
    shape("Pulumi", r"pul-[a-f0-9]{40}", &[], "gitleaks: pulumi.go"),
    shape("age", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}", &[], "gitleaks: age.go"),
    shape("1Password", r"A3-[A-Z0-9]{6}-[A-Z0-9-]{20,}", &[], "gitleaks: 1password.go"),
    shape("Doppler", r"dp\.(?:pt|st|ct|sa)\.[\w.]{20,}", &[], "gitleaks: doppler.go (pt alone)"),
    // Services around a job.
    shape("Slack", r"xox[abeoprs]-[\w-]{8,}|xapp-\d-[\w-]{8,}", &[("xoxb-", 40)], "gitleaks: slack.go"),
    shape("Grafana", r"gl(?:sa|c)_[\w+/=]{16,}", &[], "gitleaks: grafana.go"),
    shape("Linear", r"lin_api_[A-Za-z0-9]{20,}", &[], "gitleaks: linear.go"),
    shape("Notion", r"ntn_\w{20,}", &[], "gitleaks: notion.go"),
    shape(
        "Stripe",
        r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{10,}",
        &[],
        "gitleaks: stripe.go; webhook secrets: general knowledge",
    ),
    shape("SendGrid", r"SG\.[\w-]{8,}\.[\w-]{8,}", &[], "gitleaks: sendgrid.go"),
    shape("Twilio", r"SK[0-9a-f]{32}", &[], "gitleaks: twilio.go"),
    shape("Mailgun", r"key-[0-9a-f]{32}", &[], "gitleaks: mailgun.go"),
    shape("New Relic", r"NR(?:AK|JS|RA|II|IQ)-[\w-]{16,}", &[], "gitleaks: newrelic.go (AK, JS and II)"),
    shape("Postman", r"PMAK-[a-f0-9-]{32,}", &[], "gitleaks: postman.go"),
    shape("Sentry", r"sntry[su]_[\w+/=-]{20,}", &[], "gitleaks: sentry.go"),
    shape("Atlassian", r"ATATT3[\w=-]{20,}", &[], "gitleaks: atlassian.go"),
    shape("Telegram", r"(?:bot)?\d{8,10}:AA[\w-]{30,}", &[], "gitleaks: telegram.go"),
    shape("Shopify", r"shp(?:ss|at|ca|pa)_[a-fA-F0-9]{16,}", &[], "gitleaks: shopify.go"),
    shape("Azure Active Directory", r"[A-Za-z0-9_~.]{3}\dQ~[\w~.-]{20,}", &[], "gitleaks: azure.go"),
    shape("LangSmith", r"lsv2_(?:pt|sk)_[a-z0-9]{16,}(?:_[a-z0-9]{6,})?", &[], "gitleaks: langsmith.go"),
    // The prefix of a service and hexadecimal digits: `abc_live_0123…`. Digests have no prefix with `_`.
    shape(
        "services with hexadecimal keys",
        r"(?:[a-z]{2,10}\d?_){1,3}[a-f0-9]{32,}(?:[._][A-Za-z0-9]{8,})?",
        &[],
        UNREAD,
    ),
    shape("JSON Web Tokens of any service", r"eyJ[\w-]{8,}(?:\.[\w-]+)*", &[], "gitleaks: jwt.go"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::pattern;

    /// The shortest whole token that begins like this.
    fn token(start: &str, length: usize) -> String {
        start.chars().chain("A1B2C3D4E5F6G7H8".chars().cycle().take(length)).collect()
    }

    #[test]
    fn reported_token_shapes_match_their_redaction_pattern() {
        for shape in TOKEN_SHAPES {
            let regex = pattern(&format!("^(?:{})$", shape.pattern));
            for (start, length) in shape.whole {
                assert!(regex.is_match(&token(start, *length)), "{}: {start}", shape.service);
            }
        }
    }

    #[test]
    fn every_service_is_there_once_and_has_a_source() {
        let mut services: Vec<&str> = TOKEN_SHAPES.iter().map(|shape| shape.service).collect();
        let count = services.len();
        services.sort_unstable();
        services.dedup();
        assert_eq!(services.len(), count);
        assert!(TOKEN_SHAPES.iter().all(|shape| shape.source.len() > 3));
    }
}
