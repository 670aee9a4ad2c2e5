import { useState } from "preact/hooks";
import type { Cause, Report, RunDetail } from "../contract";
import { show_percent, text_of, visible } from "../text";
import { link_of, verdict_of } from "../verdict";
import { Fold, Lines, Prose } from "./pieces";
import { Fix } from "./verdict";

/** Why this cause, what else was thought of, and what ruled the rest out. */
export const Causes = ({ run }: { run: RunDetail }) => {
  const report = run.report;
  if (!report) return null;
  const verdict = verdict_of(run, report);
  const first = verdict.answered ? report.causes[0] : undefined;
  const others = report.causes.slice(first && !verdict.either ? 1 : 0);
  const framework = text_of(report.summary.framework);
  return (
    <>
      {first && !verdict.either && <Why cause={first} report={report} framework={framework} />}
      <Symptoms report={report} />
      {verdict.tone !== "good" && others.length > 0 && (
        <Others
          causes={others}
          framework={framework}
          title={first ? "Other causes considered" : "Possible causes"}
        />
      )}
      {report.ruled_out.length > 0 && (
        <section aria-labelledby="ruled-out">
          <h2 id="ruled-out">Ruled out</h2>
          <dl class="ruled">
            {report.ruled_out.map((each) => (
              <div key={each.id}>
                <dt>{visible(each.title)}</dt>
                <dd>
                  <Prose text={each.because} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      )}
    </>
  );
};

const Why = ({ cause, report, framework }: { cause: Cause; report: Report; framework: string }) => (
  <section aria-labelledby="why">
    <h2 id="why">Why</h2>
    {cause.because && (
      <p>
        <Prose text={cause.because} />
      </p>
    )}
    <Lines
      evidence={cause.evidence.length > 0 ? cause.evidence : (report.symptoms[0]?.evidence ?? [])}
    />
    {cause.remedies.length > 1 && (
      <Fold title={`What else helps (${cause.remedies.length - 1})`}>
        {cause.remedies.slice(1).map((each, at) => (
          <Fix key={at} remedy={each} label={`${at + 2}.`} framework={framework} />
        ))}
      </Fold>
    )}
    {cause.verify && (
      <p class="soft">
        <b>It worked when</b> <Prose text={cause.verify} />
      </p>
    )}
    <References cause={cause} />
  </section>
);

const References = ({ cause }: { cause: Cause }) =>
  cause.references.length === 0 ? null : (
    <p class="soft small">
      {cause.references.map((each, at) => {
        const link = link_of(each);
        return (
          <span key={each}>
            {at > 0 && " · "}
            {link ? (
              <a href={link} rel="noreferrer noopener" target="_blank">
                {visible(each)}
              </a>
            ) : (
              <Prose text={each} />
            )}
          </span>
        );
      })}
    </p>
  );

const k_tone: Record<string, string> = {
  failed: "bad",
  unstable: "bad",
  error: "bad",
  warning: "warn",
};

const Symptoms = ({ report }: { report: Report }) =>
  report.symptoms.length === 0 ? null : (
    <section aria-labelledby="seen">
      <h2 id="seen">What was seen</h2>
      <ul class="symptoms">
        {report.symptoms.map((each, at) => (
          <li key={at} class={k_tone[each.severity] ?? "note"}>
            <span class="offstage">{each.severity}: </span>
            <Prose text={each.summary} />{" "}
            {each.series && (
              <span class="where">
                {each.first_step === each.last_step
                  ? `step ${each.first_step}`
                  : `steps ${each.first_step}–${each.last_step}`}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );

const k_few = 3;

const Others = ({
  causes,
  framework,
  title,
}: {
  causes: Cause[];
  framework: string;
  title: string;
}) => {
  const [all, set_all] = useState(false);
  return (
    <section aria-labelledby="others">
      <h2 id="others">{title}</h2>
      {(all ? causes : causes.slice(0, k_few)).map((cause) => (
        <Fold
          key={cause.id}
          title={
            <>
              <span class="percent">{show_percent(cause.probability)}</span>
              <span>
                {visible(cause.title)}
                <Against cause={cause} />
              </span>
            </>
          }
        >
          <p>
            <Prose text={cause.because} />
          </p>
          <table>
            <thead>
              <tr>
                <th scope="col" class="number">
                  Weight
                </th>
                <th scope="col">Observed</th>
              </tr>
            </thead>
            <tbody>
              {cause.weights.map((each, at) => (
                <tr key={at}>
                  <td class="number">
                    {(each.weight ?? 0) > 0 ? "+" : ""}
                    {(each.weight ?? 0).toFixed(1)}
                  </td>
                  <td>
                    <Prose text={each.because || each.when} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {cause.remedies[0] && <Fix remedy={cause.remedies[0]} label="Do" framework={framework} />}
          <References cause={cause} />
        </Fold>
      ))}
      {causes.length > k_few && (
        <button type="button" class="after" onClick={() => set_all(!all)}>
          {all ? "Show fewer" : `Show all ${causes.length}`}
        </button>
      )}
    </section>
  );
};

/** What speaks most against a cause, beside its name. */
const Against = ({ cause }: { cause: Cause }) => {
  const against = cause.weights
    .filter((each) => (each.weight ?? 0) < 0 && each.because)
    .sort((a, b) => (a.weight ?? 0) - (b.weight ?? 0))[0];
  return against ? (
    <small class="against">
      {" "}
      against it: <Prose text={against.because} />
    </small>
  ) : null;
};
