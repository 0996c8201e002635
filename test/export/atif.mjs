// The rules of ATIF 1.7 as a reader applies them, written from the description of the format: unknown members are refused everywhere, steps count from 1,
// members that only answers of a model have, results that belong to a call of their step.
import assert from 'node:assert/strict';

const text = (v) => typeof v === 'string';
const number = (v) => typeof v === 'number' && Number.isFinite(v);
const count = (v) => Number.isInteger(v) && v >= 0;
const object = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const list = (v) => Array.isArray(v);
const time = (v) => text(v) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(v) && !Number.isNaN(Date.parse(v));
const words = (v) => text(v) || list(v);

const TRAJECTORY = { schema_version: [text, true], session_id: [text], trajectory_id: [text], agent: [object, true], steps: [list, true], notes: [text], final_metrics: [object], continued_trajectory_ref: [text], extra: [object], subagent_trajectories: [list] };
const AGENT = { name: [text, true], version: [text, true], model_name: [text], tool_definitions: [list], extra: [object] };
const STEP = { step_id: [count, true], timestamp: [time], source: [text, true], model_name: [text], reasoning_effort: [(v) => text(v) || number(v)], message: [words, true], reasoning_content: [text], tool_calls: [list], observation: [object], metrics: [object], is_copied_context: [(v) => typeof v === 'boolean'], llm_call_count: [count], extra: [object] };
const ANSWER_ONLY = ['model_name', 'reasoning_effort', 'reasoning_content', 'tool_calls', 'metrics'];
const CALL = { tool_call_id: [text, true], function_name: [text, true], arguments: [object, true], extra: [object] };
const OBSERVATION = { results: [list, true] };
const RESULT = { source_call_id: [text], content: [words], subagent_trajectory_ref: [list], extra: [object] };
const REF = { trajectory_id: [text], trajectory_path: [text], session_id: [text], extra: [object] };
const METRICS = { prompt_tokens: [count], completion_tokens: [count], cached_tokens: [count], cost_usd: [number], prompt_token_ids: [list], completion_token_ids: [list], logprobs: [list], extra: [object] };
const TOTALS = { total_prompt_tokens: [count], total_completion_tokens: [count], total_cached_tokens: [count], total_cost_usd: [number], total_steps: [count], extra: [object] };
const VERSIONS = new Set(Array.from({ length: 8 }, (_, i) => `ATIF-v1.${i}`));

function shape(value, members, where) {
	assert.ok(object(value), `${where} is no object`);
	for (const [name, v] of Object.entries(value)) {
		assert.ok(members[name], `${where} has the unknown member ${name}`);
		assert.ok(members[name][0](v), `${where}.${name} is ${JSON.stringify(v)?.slice(0, 200)}`);
	}
	for (const [name, [, needed]] of Object.entries(members)) assert.ok(!needed || name in value, `${where} has no ${name}`);
}

function checkResult(result, calls, children, where) {
	shape(result, RESULT, where);
	if (result.source_call_id !== undefined) assert.ok(calls.has(result.source_call_id), `${where}: ${result.source_call_id} is no call of its step`);
	for (const ref of result.subagent_trajectory_ref ?? []) {
		shape(ref, REF, `${where} ref`);
		assert.ok(ref.trajectory_id ?? ref.trajectory_path, `${where}: a ref to nothing`);
		if (ref.trajectory_id) assert.ok(children.has(ref.trajectory_id), `${where}: ${ref.trajectory_id} is not in the document`);
	}
}

function checkStep(step, i, children, where) {
	shape(step, STEP, where);
	assert.equal(step.step_id, i + 1, `${where}: step_id`);
	assert.ok(['system', 'user', 'agent'].includes(step.source), `${where}: source ${step.source}`);
	if (step.source !== 'agent') for (const name of ANSWER_ONLY) assert.ok(!(name in step), `${where}: ${name} of a ${step.source}`);
	if (step.llm_call_count === 0) assert.ok(!('metrics' in step) && !('reasoning_content' in step), `${where}: no call, but metrics`);
	const calls = new Set();
	for (const call of step.tool_calls ?? []) {
		shape(call, CALL, `${where} call`);
		assert.ok(!calls.has(call.tool_call_id), `${where}: ${call.tool_call_id} twice`);
		calls.add(call.tool_call_id);
	}
	if (step.observation) shape(step.observation, OBSERVATION, `${where} observation`);
	for (const result of step.observation?.results ?? []) checkResult(result, calls, children, `${where} result`);
	if (step.metrics) {
		shape(step.metrics, METRICS, `${where} metrics`);
		assert.ok((step.metrics.cached_tokens ?? 0) <= (step.metrics.prompt_tokens ?? Infinity), `${where}: more cached than sent`);
	}
}

/** Throws, with the place, where the document breaks a rule. Timestamps are not needed by the format, but a converter takes a missing one for 1970: here each step has one. */
export function checkAtif(doc, where = 'trajectory') {
	shape(doc, TRAJECTORY, where);
	assert.ok(VERSIONS.has(doc.schema_version), `${where}: version ${doc.schema_version}`);
	shape(doc.agent, AGENT, `${where} agent`);
	for (const tool of doc.agent.tool_definitions ?? []) assert.ok(tool.type === 'function' && text(tool.function?.name) && object(tool.function.parameters), `${where}: tool ${JSON.stringify(tool).slice(0, 100)}`);
	assert.ok(doc.steps.length > 0, `${where}: no step`);
	const children = new Set();
	for (const child of doc.subagent_trajectories ?? []) {
		assert.ok(text(child.trajectory_id) && !children.has(child.trajectory_id), `${where}: trajectory_id of a child`);
		children.add(child.trajectory_id);
		checkAtif(child, `${where} > ${child.trajectory_id}`);
	}
	doc.steps.forEach((step, i) => {
		checkStep(step, i, children, `${where} step ${i + 1}`);
		assert.ok(step.timestamp, `${where} step ${i + 1}: no time`);
	});
	if (doc.final_metrics) shape(doc.final_metrics, TOTALS, `${where} final_metrics`);
}
