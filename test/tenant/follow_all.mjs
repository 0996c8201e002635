// A reader of all sessions of a tenant that trusts nothing: each session's facts in order, none missing, none twice, each under a cursor that it can come
// back with.
import { overH2 } from '../lib/h2.mjs';
import { overRpc } from '../lib/rpc.mjs';
import { Follower } from '../lib/runtime.mjs';

export class TenantFollower extends Follower {
	constructor(rt, { token, query = 'view=extended', ...more } = {}) {
		super(rt, '*', more);
		Object.assign(this, { token, query });
		this.sessions = new Map(); // sessionId -> sequence of its newest fact
		this.isWhole = query === 'view=extended' && !more.after;
	}

	where() {
		const headers = this.token ? { authorization: `Bearer ${this.token}` } : {};
		return { path: `/v1/events?${this.query}`, headers: this.cursor ? { ...headers, 'last-event-id': this.cursor } : headers };
	}

	fact(event, { id, data }) {
		const last = this.sessions.get(event.sessionId) ?? (this.isWhole ? 0 : event.sequence - 1);
		const isNext = this.isWhole ? event.sequence === last + 1 : event.sequence > last || !this.sessions.has(event.sessionId);
		if (!isNext) this.fault(`fact ${event.sequence} (${event.type}) of ${event.sessionId} follows ${last}`);
		if (!/^t\d+:\d+(\.\d+)?(,\d+:\d+(\.\d+)?)*$/.test(id)) this.fault(`cursor ${id}`);
		this.sessions.set(event.sessionId, event.sequence);
		this.facts.push({ sequence: event.sequence, type: event.type, event, data });
	}

	has(sessionId, sequence) {
		return (this.sessions.get(sessionId) ?? 0) >= sequence;
	}

	/** What arrived of a session, as it came. */
	of(sessionId) {
		return this.facts.filter((f) => f.event.sessionId === sessionId).map((f) => f.data);
	}
}

/** The same over HTTP/2. */
export const H2TenantFollower = overH2(TenantFollower);

/** The same over JSON-RPC, at the peer that `connect()` gives. */
export class RpcTenantFollower extends overRpc(TenantFollower) {
	constructor(connect) {
		super(null);
		this.connect = connect;
	}

	params() {
		return { view: this.view };
	}
}
