import type { PoliciesView } from '../../contract/admin.ts'
import { hashOf, type Route } from '../route/route.ts'
import { Heading } from '../shell/heading.tsx'
import { Panel } from '../shell/panel.tsx'
import { Ago } from '../time/countdown.tsx'
import { ProblemNote } from '../wire/problem.tsx'
import { useResource } from '../wire/resource.ts'
import { RuleFile } from './rule-file.tsx'
import { TryCall } from './try-call.tsx'
import { Finding } from './finding.tsx'

/** The policy in force: its revision and time, the findings of the last load, and its decision on a call. */
export function PoliciesPage({ file, line }: Extract<Route, { readonly page: 'policies' }>) {
  return (
    <>
      <div class="title">
        <Heading>Policies</Heading>
        <a href={hashOf({ page: 'playground' })}>Edit a bundle in the playground</a>
      </div>
      {file !== undefined && <RuleFile key={file} path={file} line={line} />}
      <Policies />
    </>
  )
}

function Policies() {
  const { body: view, problem, load } = useResource<PoliciesView>('admin/policies')
  if (problem) return <ProblemNote problem={problem} retry={() => void load()} />
  if (view === undefined) return <p class="empty">Loading…</p>
  return (
    <div class="columns">
      <div>
        <TryCall />
        <Diagnostics load={view.last_load} />
      </div>
      <div>
        <InForce view={view} />
        <Shadow counts={view.shadow} />
        <Files files={view.files} />
      </div>
    </div>
  )
}

function InForce({ view }: { readonly view: PoliciesView }) {
  const { revision, commit, loaded_at, tools, rules, withdrawals } = view
  return (
    <Panel title="In force" kind="policy">
      {!view.in_force && (
        <p>
          <b>Nothing is in force: every call is rejected.</b>
        </p>
      )}
      {withdrawals && <p class="note warn">The newest directory takes away: {withdrawals}.</p>}
      <dl class="facts">
        <dt>Bundle</dt>
        <dd class="mono">{revision?.slice(0, 16) ?? 'none'}</dd>
        {commit && <dt>Commit</dt>}
        {commit && <dd class="mono">{commit.slice(0, 12)}</dd>}
        <dt>Loaded</dt>
        <dd>{loaded_at ? <Ago at={loaded_at} /> : 'never'}</dd>
        <dt>Holds</dt>
        <dd>
          {tools} tools, {rules} rules
        </dd>
      </dl>
    </Panel>
  )
}

function Shadow({ counts }: { readonly counts: PoliciesView['shadow'] }) {
  const rules = Object.entries(counts)
  return (
    <Panel title="Shadow rules">
      {rules.length === 0 && <p class="quiet">No shadow rule has fired since the start.</p>}
      <dl class="facts">
        {rules.map(([id, count]) => [
          <dt key={id} class="mono">
            {id}
          </dt>,
          <dd key={`${id}=`}>{count} calls</dd>,
        ])}
      </dl>
    </Panel>
  )
}

function Files({ files }: { readonly files: PoliciesView['files'] }) {
  return (
    <Panel title="Files">
      <ul class="plain mono small">
        {files.map(({ path, bytes }) => (
          <li key={path}>
            {path.startsWith('rules/') ? <a href={hashOf({ page: 'policies', file: path })}>{path}</a> : path}{' '}
            <small>{bytes} bytes</small>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** The findings of the last load of the policy files. */
function Diagnostics({ load }: { readonly load: PoliciesView['last_load'] }) {
  return (
    <Panel title="Last load" note={load.at && <Ago at={load.at} />}>
      {!load.ok && (
        <p>
          <b>It failed: the earlier policy is still in force.</b>
        </p>
      )}
      {load.ok && load.diagnostics.length === 0 && <p class="quiet">Loaded without warnings.</p>}
      <ul class="rules">
        {load.diagnostics.map((finding, i) => (
          <Finding key={i} finding={finding} />
        ))}
      </ul>
    </Panel>
  )
}
