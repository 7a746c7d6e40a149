//! `schedule`: units for outside schedulers, printed and never installed. Every one of them runs one `review`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Timelike as _, Utc};
use clap::ValueEnum as _;
use serde_json::json;

use super::{Answer, Surroundings, schedule, settings};
use crate::cli::{Cli, ExitCode, Failure, FileArgs, Format, Target};
use crate::outputs::verbs::document;
use crate::schedule::Schedule;
use crate::settings::Settings;

/// Longest a run may take, minutes.
const MOST_MINUTES: u32 = 45;

/// What every unit is made from.
struct Job {
    /// The workspace, absolute.
    workspace: PathBuf,
    /// This program.
    program: PathBuf,
    /// The instruction file as given.
    instructions: String,
    /// The five fields, names replaced by numbers.
    fields: [String; 5],
    /// The zone.
    zone: String,
    /// The schedule.
    schedule: Schedule,
    /// The instant.
    now: DateTime<Utc>,
}

/// Prints a unit.
pub(super) fn run(cli: &Cli, file: &FileArgs, target: Target, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let settings = settings(cli, &file.instructions)?;
    let schedule = schedule(&settings).map_err(Failure::Unusable)?;
    let workspace = cli.workspace.canonicalize().map_err(|error| Failure::Unusable(error.into()))?;
    let job = Job {
        workspace,
        program: around.host.program.clone(),
        instructions: file.instructions.display().to_string(),
        fields: schedule.fields(),
        zone: settings.timezone.to_string(),
        now: (around.clock)(),
        schedule,
    };
    let text = match target {
        Target::Crontab => job.crontab(),
        Target::Systemd => job.systemd(),
        Target::GithubActions => job.github_actions(&settings),
        Target::Kubernetes => job.kubernetes(),
        Target::OpencodeScheduler => job.opencode_scheduler(),
    };
    let fields = |unit: &str| {
        json!({
            "target": target.to_possible_value().map(|value| value.get_name().to_owned()),
            "schedule": settings.schedule, "timezone": job.zone, "next_due": job.schedule.next_after(job.now), "unit": unit,
        })
    };
    let text = if cli.format == Format::Json { document("schedule", fields(&text)) } else { text };
    Ok(Answer { text, warnings: job.schedule.warnings().to_vec(), code: ExitCode::Finished })
}

/// A path for a shell.
fn shell(path: &str) -> String {
    let is_plain = !path.is_empty() && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./_-".contains(&byte));
    if is_plain { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// A path in double quotes, for systemd, JSON and YAML.
fn double(path: &str) -> String {
    serde_json::to_string(path).expect("text always has a JSON form")
}

/// Values as systemd and others list them; every value is `*`.
fn listed(values: &[u32], all: usize) -> String {
    if values.len() == all {
        return "*".to_owned();
    }
    values.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

impl Job {
    /// The arguments of one review.
    fn arguments(&self) -> Vec<String> {
        let workspace = self.workspace.display().to_string();
        ["--workspace", &workspace, "review", "--quiet", "--instructions", &self.instructions]
            .map(str::to_owned)
            .to_vec()
    }

    /// A crontab line. Cron reads `%` as a line end, so it gets a backslash.
    fn crontab(&self) -> String {
        let arguments: Vec<String> = self.arguments().iter().map(|argument| shell(argument)).collect();
        let command = format!("{} {}", shell(&self.program.display().to_string()), arguments.join(" "));
        let zone = &self.zone;
        format!(
            "# pool-review: one review whenever one is due. Add it with `crontab -e`.\n\
             # cronie reads CRON_TZ; the cron of Debian ignores it and takes the zone of the machine, which must then be {zone}.\n\
             CRON_TZ={zone}\n\
             {} {}\n",
            self.fields.join(" "),
            command.replace('%', "\\%")
        )
    }

    /// A service and a timer. A timer catches up once after the machine slept.
    fn systemd(&self) -> String {
        let words: Vec<String> =
            self.arguments().iter().map(|argument| double(argument).replace('%', "%%").replace('$', "$$")).collect();
        let program = double(&self.program.display().to_string()).replace('%', "%%");
        let calendar = self.calendar().iter().map(|line| format!("OnCalendar={line}\n")).collect::<Vec<_>>().concat();
        format!(
            "# ~/.config/systemd/user/pool-review.service\n\
             [Unit]\n\
             Description=Review of the model pools\n\
             \n\
             [Service]\n\
             Type=oneshot\n\
             WorkingDirectory={}\n\
             ExecStart={program} {}\n\
             # 3: finished, some pools blocked; 10: finished, proposals are open\n\
             SuccessExitStatus=3 10\n\
             TimeoutStartSec={MOST_MINUTES}min\n\
             \n\
             # ~/.config/systemd/user/pool-review.timer\n\
             # then: systemctl --user enable --now pool-review.timer\n\
             [Unit]\n\
             Description=Review of the model pools, when due\n\
             \n\
             [Timer]\n\
             {calendar}\
             Persistent=true\n\
             RandomizedDelaySec=30\n\
             AccuracySec=1s\n\
             \n\
             [Install]\n\
             WantedBy=timers.target\n",
            self.workspace.display().to_string().replace('%', "%%"),
            words.join(" ")
        )
    }

    /// Calendar expressions of systemd: one, or two of which either may be due.
    fn calendar(&self) -> Vec<String> {
        let [minutes, hours, days, months, weekdays] = self.schedule.values();
        let names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
        let on: Vec<&str> = weekdays.iter().filter_map(|day| names.get(usize::try_from(*day).ok()?).copied()).collect();
        let two = |values: &[u32], all: usize| {
            let list: Vec<String> = values.iter().map(|value| format!("{value:02}")).collect();
            if values.len() == all { "*".to_owned() } else { list.join(",") }
        };
        let time = format!("{}:{}:00 {}", two(hours, 24), two(minutes, 60), self.zone);
        let date = |days: &str| format!("*-{}-{days} {time}", two(months, 12));
        let weekday = if on.len() == 7 { String::new() } else { format!("{} ", on.join(",")) };
        if self.schedule.is_either_day() {
            vec![date(&two(days, 31)), format!("{weekday}{}", date("*"))]
        } else {
            vec![format!("{weekday}{}", date(&two(days, 31)))]
        }
    }

    /// A workflow. GitHub reads schedules in UTC.
    fn github_actions(&self, settings: &Settings) -> String {
        let (crons, remark) = self.in_utc();
        let crons = crons.iter().map(|cron| format!("    - cron: {}\n", double(cron))).collect::<Vec<_>>().concat();
        let reports = shell(&settings.reports.display().to_string());
        let log = shell(&settings.log.display().to_string());
        format!(
            "# .github/workflows/pool-review.yml\n\
             name: pool-review\n\
             on:\n\
             \x20 workflow_dispatch:\n\
             \x20 schedule: # {remark}\n\
             {crons}\
             permissions:\n\
             \x20 contents: write # to keep the reports; nothing else is written\n\
             concurrency:\n\
             \x20 group: pool-review # never two at a time\n\
             \x20 cancel-in-progress: false\n\
             jobs:\n\
             \x20 review:\n\
             \x20   runs-on: ubuntu-latest\n\
             \x20   timeout-minutes: {MOST_MINUTES}\n\
             \x20   steps:\n\
             \x20     - uses: actions/checkout@v4\n\
             \x20     - name: Install\n\
             \x20       run: cargo install --locked --git {} pool-review\n\
             \x20     - name: Review\n\
             \x20       run: pool-review review --instructions {} || [ \"$?\" -eq 3 ] # 3: finished, some pools blocked\n\
             \x20     - name: Keep the reports\n\
             \x20       run: |\n\
             \x20         git config user.name pool-review\n\
             \x20         git config user.email pool-review@users.noreply.github.com\n\
             \x20         git add -- {reports} {log}\n\
             \x20         git diff --cached --quiet || git commit --quiet --message \"Pool review\"\n\
             \x20         git push\n",
            env!("CARGO_PKG_REPOSITORY"),
            shell(&self.instructions)
        )
    }

    /// The schedule for a reader that knows UTC only: exact for the offset of today when every day is alike.
    fn in_utc(&self) -> (Vec<String>, String) {
        let [_, _, days, months, weekdays] = self.schedule.values();
        let is_daily = (days.len(), months.len(), weekdays.len()) == (31, 12, 7);
        if self.zone == "UTC" {
            return (
                vec![self.fields.join(" ")],
                "GitHub reads this in UTC, and so does the instruction file".to_owned(),
            );
        }
        if !is_daily {
            let remark =
                format!("GitHub reads this in UTC, the instruction file in {}: runs shift by the offset", self.zone);
            return (vec![self.fields.join(" ")], remark);
        }
        let end = self.now + TimeDelta::hours(24);
        let due = std::iter::successors(self.schedule.next_after(self.now), |due| self.schedule.next_after(*due));
        let mut minutes: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for due in due.take_while(|due| *due <= end) {
            minutes.entry(due.minute()).or_default().insert(due.hour());
        }
        let mut by_hours: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for (minute, hours) in minutes {
            by_hours.entry(hours.into_iter().collect()).or_default().push(minute);
        }
        let cron =
            |(hours, minutes): (Vec<u32>, Vec<u32>)| format!("{} {} * * *", listed(&minutes, 60), listed(&hours, 24));
        let remark = format!(
            "UTC, by the offset of {} on {}; after a change of the clock runs shift",
            self.zone,
            self.now.format("%Y-%m-%d")
        );
        (by_hours.into_iter().map(cron).collect(), remark)
    }

    /// A `CronJob` with the volume that holds the workspace.
    fn kubernetes(&self) -> String {
        format!(
            "# kubectl apply -f -; put your image and your volume in\n\
             apiVersion: batch/v1\n\
             kind: CronJob\n\
             metadata:\n\
             \x20 name: pool-review\n\
             spec:\n\
             \x20 schedule: {}\n\
             \x20 timeZone: {}\n\
             \x20 concurrencyPolicy: Forbid # never two at a time\n\
             \x20 startingDeadlineSeconds: 3600\n\
             \x20 successfulJobsHistoryLimit: 2\n\
             \x20 failedJobsHistoryLimit: 3\n\
             \x20 jobTemplate:\n\
             \x20   spec:\n\
             \x20     backoffLimit: 1\n\
             \x20     activeDeadlineSeconds: {}\n\
             \x20     podFailurePolicy:\n\
             \x20       rules:\n\
             \x20         - action: FailJob # 2: settings are unusable, a second try changes nothing\n\
             \x20           onExitCodes: {{ containerName: review, operator: In, values: [2] }}\n\
             \x20     template:\n\
             \x20       spec:\n\
             \x20         restartPolicy: Never\n\
             \x20         automountServiceAccountToken: false\n\
             \x20         containers:\n\
             \x20           - name: review\n\
             \x20             image: registry.example/pool-review:{}\n\
             \x20             # 3 is finished with blocked pools; Kubernetes knows 0 only\n\
             \x20             command: [\"/bin/sh\", \"-c\", {}]\n\
             \x20             securityContext: {{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true }}\n\
             \x20             volumeMounts:\n\
             \x20               - {{ name: fleet, mountPath: /fleet }}\n\
             \x20         volumes:\n\
             \x20           - name: fleet\n\
             \x20             persistentVolumeClaim: {{ claimName: fleet }}\n",
            double(&self.fields.join(" ")),
            double(&self.zone),
            MOST_MINUTES * 60,
            env!("CARGO_PKG_VERSION"),
            double(&format!(
                "pool-review --workspace /fleet review --quiet --instructions {} || [ $? -eq 3 ]",
                shell(&self.instructions)
            ))
        )
    }

    /// A job file of opencode-scheduler. What really runs is `invocation`: this program, without a model.
    fn opencode_scheduler(&self) -> String {
        let at = self.now.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let prompt = "Run one review of the model pools as `invocation` says, then stop.";
        let job = json!({
            "scopeId": scope_id(&self.workspace),
            "slug": "pool-review",
            "name": "Pool review",
            "schedule": self.fields.join(" "),
            "run": { "prompt": prompt, "title": "pool-review" },
            "prompt": prompt,
            "invocation": { "command": self.program.display().to_string(), "args": self.arguments() },
            "timeoutSeconds": MOST_MINUTES * 60,
            "workdir": self.workspace.display().to_string(),
            "createdAt": at,
        });
        serde_json::to_string_pretty(&job).expect("a job holds text and whole numbers only") + "\n"
    }
}

/// The scope of a workdir: its last part as a slug, and the first digits of the FNV-1a hash of its path.
fn scope_id(workdir: &Path) -> String {
    let path = workdir.display().to_string();
    let hash = path
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let last = workdir.file_name().map_or(String::new(), |name| name.to_string_lossy().to_lowercase());
    let slug: String = last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{}-{}", slug.trim_matches('-'), &format!("{hash:016x}")[..12])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::scope_id;

    #[test]
    fn a_scope_is_the_name_of_its_folder_and_twelve_digits() {
        // The scope that opencode-scheduler itself gave this folder, in the handed example.
        assert_eq!(scope_id(Path::new("/home/fleet/ops/pool-review")), "pool-review-ab129708adc1");
    }
}
