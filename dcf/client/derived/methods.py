"""The methods of the clients: one for each verb. Each is made when it is first asked for."""

from typing import TYPE_CHECKING

from dcf.client.methods import Iteration, Later, Method

if TYPE_CHECKING:
    from dcf.client.derived import agents as agents_verbs
    from dcf.client.derived import artifacts as artifacts_verbs
    from dcf.client.derived import authoring as authoring_verbs
    from dcf.client.derived import execution as execution_verbs
    from dcf.client.derived import files as files_verbs
    from dcf.client.derived import gates as gates_verbs
    from dcf.client.derived import growing as growing_verbs
    from dcf.client.derived import journal as journal_verbs
    from dcf.client.derived import knowledge as knowledge_verbs
    from dcf.client.derived import notification as notification_verbs
    from dcf.client.derived import operations as operations_verbs
    from dcf.client.derived import people as people_verbs
    from dcf.client.derived import planning as planning_verbs
    from dcf.client.derived import projects as projects_verbs
    from dcf.client.derived import redis_json as redis_json_verbs
    from dcf.client.derived import schedules as schedules_verbs
    from dcf.client.derived import skills as skills_verbs
    from dcf.client.steps import artifacts as artifacts_steps
    from dcf.client.steps import diagnosis as diagnosis_steps
    from dcf.client.steps import language as language_steps
    from dcf.client.steps import leases as leases_steps
    from dcf.client.steps import notification as notification_steps
    from dcf.client.steps import schedules as schedules_steps
    from dcf.client.steps import starting as starting_steps
    from dcf.client.steps import validation as validation_steps
    from dcf.client.steps import work as work_steps
else:
    agents_verbs = Later("dcf.client.derived.agents")
    artifacts_verbs = Later("dcf.client.derived.artifacts")
    authoring_verbs = Later("dcf.client.derived.authoring")
    execution_verbs = Later("dcf.client.derived.execution")
    files_verbs = Later("dcf.client.derived.files")
    gates_verbs = Later("dcf.client.derived.gates")
    growing_verbs = Later("dcf.client.derived.growing")
    journal_verbs = Later("dcf.client.derived.journal")
    knowledge_verbs = Later("dcf.client.derived.knowledge")
    notification_verbs = Later("dcf.client.derived.notification")
    operations_verbs = Later("dcf.client.derived.operations")
    people_verbs = Later("dcf.client.derived.people")
    planning_verbs = Later("dcf.client.derived.planning")
    projects_verbs = Later("dcf.client.derived.projects")
    redis_json_verbs = Later("dcf.client.derived.redis_json")
    schedules_verbs = Later("dcf.client.derived.schedules")
    skills_verbs = Later("dcf.client.derived.skills")
    artifacts_steps = Later("dcf.client.steps.artifacts")
    diagnosis_steps = Later("dcf.client.steps.diagnosis")
    language_steps = Later("dcf.client.steps.language")
    leases_steps = Later("dcf.client.steps.leases")
    notification_steps = Later("dcf.client.steps.notification")
    schedules_steps = Later("dcf.client.steps.schedules")
    starting_steps = Later("dcf.client.steps.starting")
    validation_steps = Later("dcf.client.steps.validation")
    work_steps = Later("dcf.client.steps.work")


class VerbMethods:
    """A method for each verb of dcf."""

    register_agent = Method(agents_verbs.register_agent)
    list_registered_agents = Iteration(agents_verbs.list_registered_agents)
    create_worker_agents = Method(agents_verbs.create_worker_agents)
    resolve_agent_name_to_id = Method(agents_verbs.resolve_agent_name_to_id)
    delete_agent = Method(agents_verbs.delete_agent)
    remove_tool_return_limits = Method(agents_verbs.remove_tool_return_limits)
    get_my_assignment = Method(agents_verbs.get_my_assignment)
    put_artifact = Method(artifacts_steps.put_artifact)
    get_artifact = Method(artifacts_steps.get_artifact)
    list_artifacts = Iteration(artifacts_verbs.list_artifacts)
    csv_to_manifests = Method(authoring_verbs.csv_to_manifests)
    csv_to_stub_config = Method(authoring_verbs.csv_to_stub_config)
    report_limit = Method(execution_verbs.report_limit)
    reserve_turn = Method(execution_verbs.reserve_turn)
    report_turn = Method(execution_verbs.report_turn)
    leave_note = Method(execution_verbs.leave_note)
    ask_question = Method(execution_verbs.ask_question)
    correct_result = Method(execution_verbs.correct_result)
    log_event = Method(execution_verbs.log_event)
    find_work = Iteration(work_steps.find_work)
    complete_states = Method(execution_verbs.complete_states)
    read_workflow_control_plane = Method(execution_verbs.read_workflow_control_plane)
    update_workflow_control_plane = Method(execution_verbs.update_workflow_control_plane)
    acquire_state_lease = Method(execution_verbs.acquire_state_lease)
    claim_ready_state = Method(execution_verbs.claim_ready_state)
    renew_state_lease = Method(execution_verbs.renew_state_lease)
    release = Method(leases_steps.release)
    list_directory = Iteration(files_verbs.list_directory)
    read_file = Method(files_verbs.read_file)
    write_file = Method(files_verbs.write_file)
    create_directory = Method(files_verbs.create_directory)
    delete_path = Method(files_verbs.delete_path)
    move_path = Method(files_verbs.move_path)
    list_gates = Iteration(gates_verbs.list_gates)
    decide_gate = Method(gates_verbs.decide_gate)
    override_gate = Method(gates_verbs.override_gate)
    open_run = Method(growing_verbs.open_run)
    add_units = Method(growing_verbs.add_units)
    seal_group = Method(growing_verbs.seal_group)
    retry_unit = Method(growing_verbs.retry_unit)
    rewind_unit = Method(growing_verbs.rewind_unit)
    close_run = Method(growing_verbs.close_run)
    get_context = Method(journal_verbs.get_context)
    add_journal_entry = Method(journal_verbs.add_journal_entry)
    read_journal = Iteration(journal_verbs.read_journal)
    resolve_issue = Method(journal_verbs.resolve_issue)
    put_definition = Method(knowledge_verbs.put_definition)
    get_definition = Method(knowledge_verbs.get_definition)
    search_definitions = Iteration(knowledge_verbs.search_definitions)
    delete_definition = Method(knowledge_verbs.delete_definition)
    add_finding = Method(knowledge_verbs.add_finding)
    search_findings = Iteration(knowledge_verbs.search_findings)
    get_finding = Method(knowledge_verbs.get_finding)
    update_finding = Method(knowledge_verbs.update_finding)
    delete_finding = Method(knowledge_verbs.delete_finding)
    promote_issue = Method(knowledge_verbs.promote_issue)
    search = Method(knowledge_verbs.search)
    await_workflow_event = Method(notification_verbs.await_workflow_event)
    notify_next_worker_agent = Method(notification_verbs.notify_next_worker_agent)
    notify = Method(notification_steps.notify)
    put_account = Method(operations_verbs.put_account)
    list_accounts = Method(operations_verbs.list_accounts)
    read_account = Method(operations_verbs.read_account)
    open_account = Method(operations_verbs.open_account)
    assign_account = Method(operations_verbs.assign_account)
    put_prices = Method(operations_verbs.put_prices)
    settle_account = Method(operations_verbs.settle_account)
    why = Method(operations_verbs.why)
    events = Iteration(diagnosis_steps.events)
    export = Method(diagnosis_steps.export)
    read_health = Method(operations_verbs.read_health)
    delete = Method(operations_verbs.delete)
    hold = Method(operations_verbs.hold)
    read_usage = Method(operations_verbs.read_usage)
    set_budget = Method(operations_verbs.set_budget)
    cancel = Method(operations_verbs.cancel)
    pause = Method(operations_verbs.pause)
    resume = Method(operations_verbs.resume)
    resolve = Method(operations_verbs.resolve)
    list = Iteration(operations_verbs.list)
    start = Method(starting_steps.start)
    rerun = Method(operations_verbs.rerun)
    retry = Method(operations_verbs.retry)
    signal = Method(people_verbs.signal)
    send_task_success = Method(people_verbs.send_task_success)
    send_task_failure = Method(people_verbs.send_task_failure)
    send_task_heartbeat = Method(people_verbs.send_task_heartbeat)
    list_human_tasks = Iteration(people_verbs.list_human_tasks)
    answer_human_task = Method(people_verbs.answer_human_task)
    answer_question = Method(people_verbs.answer_question)
    language = Method(language_steps.language)
    create_workflow_control_plane = Method(planning_verbs.create_workflow_control_plane)
    finalize = Method(planning_verbs.finalize)
    validate = Method(validation_steps.validate)
    put_project = Method(projects_verbs.put_project)
    get_project = Method(projects_verbs.get_project)
    list_projects = Iteration(projects_verbs.list_projects)
    delete_project = Method(projects_verbs.delete_project)
    json_create = Method(redis_json_verbs.json_create)
    json_read = Method(redis_json_verbs.json_read)
    json_set = Method(redis_json_verbs.json_set)
    json_ensure = Method(redis_json_verbs.json_ensure)
    json_append = Method(redis_json_verbs.json_append)
    json_merge = Method(redis_json_verbs.json_merge)
    json_increment = Method(redis_json_verbs.json_increment)
    json_delete = Method(redis_json_verbs.json_delete)
    json_copy = Method(redis_json_verbs.json_copy)
    json_move = Method(redis_json_verbs.json_move)
    create_schedule = Method(schedules_steps.create_schedule)
    list_schedules = Iteration(schedules_verbs.list_schedules)
    operate_schedule = Method(schedules_verbs.operate_schedule)
    delete_schedule = Method(schedules_verbs.delete_schedule)
    validate_skill_manifest = Method(skills_verbs.validate_skill_manifest)
    get_skillset = Method(skills_verbs.get_skillset)
    get_skillset_from_catalog = Method(skills_verbs.get_skillset_from_catalog)
    load_skill = Method(skills_verbs.load_skill)
    unload_skill = Method(skills_verbs.unload_skill)
